"""The clock by which the operator measures how long something lasts."""

from __future__ import annotations

import time


def clock() -> float:
    """Return seconds of a clock that goes on while the process is frozen or the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
