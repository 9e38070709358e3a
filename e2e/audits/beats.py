"""Heartbeats as their senders saw them, and how long they took in each part of the rounds. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

QUIET, UPLOADING, OUTER_STEP = "quiet", "uploading", "outer step"
PERCENTILES = (50, 90, 99)


@dataclass(frozen=True, slots=True)
class Beat:
    """One heartbeat, from the call to the answer; `failure` is empty when there was one."""

    began: float
    ended: float
    failure: str = ""

    @property
    def seconds(self) -> float:
        """Return how long it took."""
        return self.ended - self.began


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a round, and for how long the aggregator used a core in it."""

    name: str
    began: float
    ended: float
    cpu_seconds: float = 0.0

    @property
    def seconds(self) -> float:
        """Return how long it took."""
        return self.ended - self.began


@dataclass(frozen=True, slots=True)
class Latency:
    """How long the heartbeats of one part took."""

    beats: int
    failed: int
    p50_seconds: float
    p90_seconds: float
    p99_seconds: float
    longest_seconds: float


def latencies(beats: Sequence[Beat], spans: Sequence[Span]) -> dict[str, Latency]:
    """Sort heartbeats into the parts; what overlaps several counts for the last one named.

    Parts without heartbeats are left out.
    """
    sorted_: dict[str, list[Beat]] = {}
    for beat in beats:
        sorted_.setdefault(part(beat, spans), []).append(beat)
    return {name: summed_up(sorted_[name]) for name in sorted(sorted_)}


def part(beat: Beat, spans: Sequence[Span]) -> str:
    """Return the part of a round that a heartbeat fell into."""
    names = {span.name for span in spans if beat.began < span.ended and beat.ended > span.began}
    return next((name for name in (OUTER_STEP, UPLOADING) if name in names), QUIET)


def summed_up(beats: Sequence[Beat]) -> Latency:
    """Return the percentiles of at least one heartbeat; failed ones count with their time."""
    seconds = [beat.seconds for beat in beats]
    p50, p90, p99 = (float(value) for value in np.percentile(seconds, PERCENTILES))
    failed = sum(bool(beat.failure) for beat in beats)
    return Latency(len(beats), failed, p50, p90, p99, max(seconds))
