"""Tests of specfleet_aggregator.promotion."""
