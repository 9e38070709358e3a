"""A soak: a fleet runs for hours while its processes are killed, and nothing may grow."""
