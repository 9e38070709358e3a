"""Acceptance length over a recent stretch of time, from counters that only grow. Pure."""

from __future__ import annotations

from dataclasses import dataclass

WINDOW_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Reading:
    """Verify steps and accepted draft tokens since an engine started."""

    at: float
    verify_steps: int
    accepted: int


@dataclass(frozen=True, slots=True)
class Recent:
    """Readings of one engine, oldest first, at most one of them older than the window."""

    readings: tuple[Reading, ...] = ()

    def plus(self, reading: Reading) -> Recent:
        """Return the readings with a newer one; an engine that started again starts over."""
        if self.readings and reading.verify_steps < self.readings[-1].verify_steps:
            return Recent((reading,))
        kept = (*self.readings, reading)
        while len(kept) > 1 and kept[1].at <= reading.at - WINDOW_SECONDS:
            kept = kept[1:]
        return Recent(kept)

    @property
    def length(self) -> float | None:
        """Return tokens per verify step within the window, None while there was no step."""
        if not self.readings:
            return None
        return acceptance_length(self.readings[0], self.readings[-1])


def acceptance_length(before: Reading, after: Reading) -> float | None:
    """Return tokens per verify step between two readings, None when there was no step."""
    steps = after.verify_steps - before.verify_steps
    if steps <= 0:
        return None
    return 1.0 + (after.accepted - before.accepted) / steps
