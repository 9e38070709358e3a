"""Pages in a headless browser: what they load, what they complain about, how they look."""
