"""Whom a soak kills."""

from __future__ import annotations

from itertools import islice

from e2e.soak.processes import AGGREGATOR
from e2e.soak.schedule import Kill, kills

WORKERS = ("main-1", "push-0")
VICTIMS = 1 + 3 * len(WORKERS)


def first(number: int, *, seed: int = 1) -> list[Kill]:
    return list(islice(kills(WORKERS, every_seconds=100.0, seed=seed), number))


def test_everybody_is_killed_before_anybody_is_killed_again() -> None:
    for turn in range(3):
        killed = first(3 * VICTIMS)[turn * VICTIMS : (turn + 1) * VICTIMS]

        assert len({(one.victim, one.worker) for one in killed}) == VICTIMS
        assert sum(one.victim == AGGREGATOR for one in killed) == 1


def test_the_same_seed_kills_in_the_same_order() -> None:
    assert first(40) == first(40)
    assert first(40) != first(40, seed=2)


def test_kills_come_at_irregular_times() -> None:
    pauses = [one.after_seconds for one in first(200)]

    assert 50.0 <= min(pauses) < 60.0
    assert 140.0 < max(pauses) <= 150.0
