"""A leak is seen, and noise is not taken for one: on series that are made up."""

from __future__ import annotations

import math
import random

import pytest

from e2e.soak.growth import (
    Allowance,
    Point,
    Sight,
    Trend,
    is_leak,
    sight,
    trend,
    trend_of_lives,
)

HOUR = 3600.0
LOOK = Sight(warm_up_seconds=300.0, bin_seconds=60.0)
MEMORY = Allowance(absolute=16.0, share=0.05)
LEVEL = 150.0


def life(
    *,
    begin: float = 0.0,
    seconds: float = 4 * HOUR,
    per_hour: float = 0.0,
    noise: float = 2.0,
    level: float = LEVEL,
    filling: float = 0.0,
    filled_after: float = 60.0,
    seed: int = 1,
) -> list[Point]:
    """Return a life whose noise is what allocators do: it stays for a while, and comes back."""
    chance, now, points = random.Random(seed), 0.0, []
    for age in range(0, int(seconds), 5):
        now = 0.98 * now + chance.gauss(0.0, noise / 5.0)
        filled = filling * -math.expm1(-age / filled_after)
        points.append(Point(begin + age, level + filled + now + per_hour * age / HOUR))
    return points


def lives(number: int, *, per_hour: float = 0.0, per_life: float = 0.0) -> list[list[Point]]:
    """Return lives of 20 minutes, one after the other."""
    return [
        life(
            begin=1200.0 * index,
            seconds=1200.0,
            per_hour=per_hour,
            level=LEVEL + per_life * index,
            seed=index,
        )
        for index in range(number)
    ]


def leaks(found: Trend | None) -> bool:
    return is_leak(found, MEMORY)


@pytest.mark.parametrize("seed", range(10))
def test_noise_alone_is_no_leak(seed: int) -> None:
    assert not leaks(trend([life(seed=seed)], LOOK))


@pytest.mark.parametrize("seed", range(10))
def test_a_slow_leak_in_one_long_life_is_seen(seed: int) -> None:
    found = trend([life(per_hour=6.0, seed=seed)], LOOK)

    assert leaks(found)
    assert found is not None
    assert found.per_hour == pytest.approx(6.0, abs=1.5)


def test_caches_that_fill_are_no_leak() -> None:
    assert not leaks(trend([life(filling=80.0)], LOOK))
    assert not leaks(trend([life(filling=80.0, filled_after=900.0)], LOOK))


def test_a_real_trend_within_what_is_allowed_is_no_leak() -> None:
    found = trend([life(per_hour=2.0, noise=0.5)], LOOK)

    assert found is not None
    assert found.z > 4.0
    assert not leaks(found)


def test_short_lives_show_a_leak_together() -> None:
    few = trend(lives(1, per_hour=70.0), LOOK)
    many = trend(lives(12, per_hour=70.0), LOOK)

    assert few is not None
    assert many is not None
    assert many.z > few.z
    assert leaks(many)


def test_lives_that_each_begin_with_more_are_a_leak() -> None:
    grown = {"agent-0": lives(12, per_life=3.0), "agent-1": lives(12, per_life=3.0)}

    assert leaks(trend_of_lives(grown, LOOK))
    assert not leaks(trend_of_lives({"agent-0": lives(12)}, LOOK))


def test_lives_of_different_processes_may_differ() -> None:
    differing = {f"agent-{number}": [life(level=100.0 * number)] for number in range(1, 4)}

    assert trend_of_lives(differing, LOOK) is None
    assert not leaks(trend([one for lives_ in differing.values() for one in lives_], LOOK))


def test_counts_that_rise_by_one_at_each_restart_are_a_leak() -> None:
    steps = [Point(10.0 * index, 20.0 + index // 60) for index in range(1440)]

    assert is_leak(trend([steps], LOOK), Allowance(absolute=5.0))
    assert not is_leak(trend([[Point(p.seconds, 20.0) for p in steps]], LOOK), Allowance(5.0))


def test_a_life_that_is_too_short_says_nothing() -> None:
    assert trend([life(seconds=400.0), []], LOOK) is None


def test_a_run_of_minutes_is_looked_at_in_seconds() -> None:
    assert sight(4 * HOUR) == LOOK
    assert sight(240.0) == Sight(warm_up_seconds=40.0, bin_seconds=2.0)
