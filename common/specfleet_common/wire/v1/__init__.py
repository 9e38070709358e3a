"""Generated from specfleet.proto by tools/generate_wire.py; protocol version 1."""
