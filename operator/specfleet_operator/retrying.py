"""Decides which failed requests to the API server are worth another try, and when. Pure."""

from __future__ import annotations

from specfleet_common.back_off import back_off_seconds

MAX_ATTEMPTS = 4

_BUSY = frozenset({429, 500, 502, 503, 504})


def pause_seconds(
    status: int | None, *, num_attempts: int, retry_after: str | None, left_seconds: float
) -> float | None:
    """Return how long to wait before the next attempt, or None to give up.

    `status` is None when no answer came. A wait that would outlast `left_seconds` is not begun.
    """
    if status is not None and status not in _BUSY:
        return None
    if num_attempts >= MAX_ATTEMPTS:
        return None
    pause = max(back_off_seconds(num_attempts), _asked_seconds(retry_after))
    return pause if pause < left_seconds else None


def _asked_seconds(retry_after: str | None) -> float:
    """Return the seconds that the server asks for; API servers never send a date."""
    return float(retry_after) if retry_after and retry_after.isdecimal() else 0.0
