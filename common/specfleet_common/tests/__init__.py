"""Tests of the modules directly in this package."""
