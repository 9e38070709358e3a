"""Waits for what a cluster does in its own time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")


def until(
    ask: Callable[[], Value],
    done: Callable[[Value], object] = bool,
    *,
    what: str,
    seconds: float,
    poll_seconds: float = 0.5,
) -> Value:
    """Return the first answer that will do; AssertionError with the last one when none comes."""
    deadline = time.monotonic() + seconds
    while True:
        answer = ask()
        if done(answer):
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:.0f} s: {what}; last seen: {answer!r}")
        time.sleep(poll_seconds)
