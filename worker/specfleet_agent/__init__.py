"""PID 1 of the sidecar: it supervises the trainer, holds the lease, moves and delivers weights."""
