"""Tests of specfleet_common.diloco."""
