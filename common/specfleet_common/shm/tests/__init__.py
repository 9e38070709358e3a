"""Tests of the shared memory, including both sides dying at every store."""
