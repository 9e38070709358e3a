"""Stands where vLLM's package is in an engine's image. It serves no model: see `e2e.simulator`."""
