"""Whether something grows: the rule by which a soak tells a leak from noise. Pure.

A series is one life of a process. Its first part, in which caches fill, is left out, and the rest
is averaged over bins. The trend is the median slope between bins of the same life (Sen 1968, with
lives as the seasons of Hirsch, Slack and Smith 1982); it is real when Kendall's test over all lives
says so. A leak is a real trend that adds more than is allowed over the longest life.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from statistics import fmean, median

MIN_Z = 4.0
"""Of Kendall's test. Bins of one life are not independent, so this is more than three."""
MIN_BINS = 5
"""Shorter lives say nothing."""
MIN_LIVES = 5
"""Fewer do not tell whether each life begins with more than the one before."""


@dataclass(frozen=True, slots=True)
class Point:
    """A reading."""

    seconds: float
    value: float


@dataclass(frozen=True, slots=True)
class Sight:
    """How series are looked at: what is left out of every life, and how long bins are."""

    warm_up_seconds: float
    bin_seconds: float


@dataclass(frozen=True, slots=True)
class Allowance:
    """How much may be added over the longest life: the larger of a number and a share."""

    absolute: float
    share: float = 0.0

    def of(self, level: float) -> float:
        """Return what is allowed of something that usually has this level."""
        return max(self.absolute, self.share * level)


@dataclass(frozen=True, slots=True)
class Trend:
    """How a quantity changes over time."""

    level: float
    """The median."""
    per_hour: float
    z: float
    """Of Kendall's test: how many standard deviations more bins rise than fall."""
    seconds: float
    """The longest life, without its first part."""
    lives: int

    @property
    def added(self) -> float:
        """Return what the trend adds over the longest life."""
        return self.per_hour * self.seconds / 3600.0


def sight(run_seconds: float) -> Sight:
    """Return how to look at a run: minutes for one of hours, seconds for one of minutes."""
    return Sight(
        warm_up_seconds=min(max(run_seconds / 20.0, 40.0), 300.0),
        bin_seconds=min(max(run_seconds / 120.0, 2.0), 60.0),
    )


def trend(lives: Sequence[Sequence[Point]], look: Sight) -> Trend | None:
    """Return the trend within lives, None when no life is long enough to have one."""
    binned = [list(_bins(life, look)) for life in lives if life]
    return _trend([life for life in binned if len(life) >= MIN_BINS])


def trend_of_lives(processes: Mapping[str, Sequence[Sequence[Point]]], look: Sight) -> Trend | None:
    """Return the trend from life to life of the same process, None when there are too few."""
    levels = []
    for lives in processes.values():
        binned = [list(_bins(life, look)) for life in lives if life]
        means = [
            Point(life[0].seconds, fmean(one.value for one in life)) for life in binned if life
        ]
        levels.append(means)
    return _trend([life for life in levels if len(life) >= MIN_LIVES])


def is_leak(found: Trend | None, allowed: Allowance) -> bool:
    """Say whether a trend is real and adds more than is allowed."""
    return found is not None and found.z > MIN_Z and found.added > allowed.of(found.level)


def _bins(life: Sequence[Point], look: Sight) -> Iterator[Point]:
    begin = life[0].seconds + look.warm_up_seconds
    kept = [point for point in life if point.seconds >= begin]
    for number, points in groupby(kept, lambda one: int((one.seconds - begin) / look.bin_seconds)):
        yield Point(begin + number * look.bin_seconds, fmean(one.value for one in points))


def _trend(lives: Sequence[Sequence[Point]]) -> Trend | None:
    if not lives:
        return None
    pairs = [pair for life in lives for pair in combinations(life, 2)]
    rises = sum(_sign(later.value - earlier.value) for earlier, later in pairs)
    variance = sum(_variance([point.value for point in life]) for life in lives)
    # Kendall's correction for continuity: the statistic moves in steps.
    z = (rises - _sign(rises)) / math.sqrt(variance) if variance else 0.0
    slope = median((b.value - a.value) / (b.seconds - a.seconds) for a, b in pairs)
    return Trend(
        level=median(point.value for life in lives for point in life),
        per_hour=3600.0 * slope,
        z=z,
        seconds=max(life[-1].seconds - life[0].seconds for life in lives),
        lives=len(lives),
    )


def _variance(values: Sequence[float]) -> float:
    """Return the variance of Kendall's statistic where nothing but chance orders the values."""
    counts = [len(list(same)) for _, same in groupby(sorted(values))]
    return _kendall(len(values)) - sum(map(_kendall, counts))


def _kendall(count: int) -> float:
    return count * (count - 1) * (2 * count + 5) / 18.0


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)
