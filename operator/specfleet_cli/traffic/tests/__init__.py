"""Tests of the traffic."""
