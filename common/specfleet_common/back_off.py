"""How long to wait after failures in a row. It does not wait itself."""

from __future__ import annotations

FIRST_SECONDS = 0.25
LAST_SECONDS = 4.0


def back_off_seconds(num_failures: int, *, last_seconds: float = LAST_SECONDS) -> float:
    """Return the pause after `num_failures` failures in a row: 0.25 s, doubling to the last."""
    doublings = min(max(num_failures - 1, 0), 16)
    return min(FIRST_SECONDS * float(2**doublings), last_seconds)
