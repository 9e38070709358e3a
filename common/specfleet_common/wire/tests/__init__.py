"""Tests of specfleet_common.wire."""
