"""Tests of specfleet_common.store."""
