"""What the components share: messages, shared memory, arithmetic, the store, metric names."""
