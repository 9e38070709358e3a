"""The pictures of the documentation, drawn from what was recorded of real runs."""
