"""Where versions and decisions lie: a small create-only store, and what is kept in it."""
