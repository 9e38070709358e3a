"""Tests of specfleet_common.judge."""
