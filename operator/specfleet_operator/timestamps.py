"""How a moment is written in an object. Pure."""

from __future__ import annotations

from datetime import UTC, datetime


def timestamp(wall_clock: float) -> str:
    """Return the moment to the second; of two such texts the later moment's is the larger."""
    return datetime.fromtimestamp(wall_clock, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
