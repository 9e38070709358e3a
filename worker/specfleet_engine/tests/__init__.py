"""Tests of the engine plugin that need no vLLM; those with one are in `e2e/`."""
