"""Decides what happens after a process ended by itself. Pure: it neither waits nor starts.

What was ready once is started again for ever; what never was is broken and is given up soon, so
that a wrong argument ends the run with its own message instead of a loop.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from specfleet_common.back_off import back_off_seconds

LAST_PAUSE_SECONDS = 8.0
MAX_VAIN_STARTS = 3


@dataclass(frozen=True, slots=True)
class Lives:
    """The history of one process; `failures` counts ends in a row of lives that were not ready."""

    starts: int = 0
    was_ever_ready: bool = False
    failures: int = 0


@dataclass(frozen=True, slots=True)
class Restart:
    """Start it again after a pause."""

    pause_seconds: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Do not start it again."""

    reason: str


def started(lives: Lives) -> Lives:
    """Return the history with one more life."""
    return replace(lives, starts=lives.starts + 1)


def became_ready(lives: Lives) -> Lives:
    """Return the history after the process answered."""
    return replace(lives, was_ever_ready=True, failures=0)


def ended(lives: Lives) -> Lives:
    """Return the history after a life ended that nobody asked to end."""
    return replace(lives, failures=lives.failures + 1)


def next_step(lives: Lives) -> Restart | GiveUp:
    """Say what to do now that the process is gone."""
    if not lives.was_ever_ready and lives.failures >= MAX_VAIN_STARTS:
        return GiveUp(f"ended {lives.failures} times and was never ready")
    return Restart(back_off_seconds(lives.failures, last_seconds=LAST_PAUSE_SECONDS))
