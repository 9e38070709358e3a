"""Timing: the same few ways of repeating and summing up in every part."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timing:
    """Repetitions of one thing; the best is the least disturbed one."""

    best_seconds: float
    median_seconds: float
    repetitions: int


def summed_up(seconds: Sequence[float]) -> Timing:
    """Return best and median of measured times."""
    return Timing(min(seconds), statistics.median(seconds), len(seconds))


def timed(action: Callable[[], object]) -> float:
    """Return how many seconds the action takes."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def repeated(action: Callable[[], object], *, at_least: int, seconds: float) -> Timing:
    """Do it once unmeasured, then `at_least` times and for so many seconds."""
    action()
    taken = [timed(action)]
    while len(taken) < at_least or sum(taken) < seconds:
        taken.append(timed(action))
    return summed_up(taken)
