"""Tests of what the programs of a fleet are told."""
