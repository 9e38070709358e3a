"""Tests of specfleet_common.telemetry."""
