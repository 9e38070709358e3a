"""What kopf calls. It only notes that a fleet changed; nothing is decided or written here."""
