"""How vLLM's model runners tell of their steps: an adapter for each, at once or late."""
