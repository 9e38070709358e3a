"""The command `specfleet`: runs a whole fleet on this machine and sends it traffic."""
