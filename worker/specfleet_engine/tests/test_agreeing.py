"""Ranks that exchange weights before the same step, whatever each of them sees when."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specfleet_engine.weights.agreeing import (
    IDLE_SECONDS,
    STEPS_AHEAD,
    Agreed,
    RankGate,
    agreement,
    is_due,
)


@pytest.mark.parametrize(
    ("ready", "agreed"),
    [
        pytest.param([7, 7], Agreed(7, 100 + STEPS_AHEAD), id="all"),
        pytest.param([7, None], None, id="one-has-none"),
        pytest.param([None, 7], None, id="the-first-has-none"),
        pytest.param([7, 8], None, id="one-is-further"),
    ],
)
def test_agreement(ready: list[int | None], agreed: Agreed | None) -> None:
    assert agreement(ready, step=100) == agreed


@pytest.mark.parametrize(
    ("agreed", "step", "idle", "due"),
    [
        pytest.param(None, 9, 9.0, False, id="nothing-agreed"),
        pytest.param(Agreed(6, 5), 9, 9.0, False, id="another-entry"),
        pytest.param(Agreed(7, 10), 9, 0.0, False, id="a-step-early"),
        pytest.param(Agreed(7, 10), 10, 0.0, True, id="on-time"),
        pytest.param(Agreed(7, 10), 12, 0.0, True, id="late"),
        pytest.param(Agreed(7, 10), 9, IDLE_SECONDS, True, id="idle"),
    ],
)
def test_is_due(agreed: Agreed | None, step: int, idle: float, due: bool) -> None:
    assert is_due(agreed, sequence=7, step=step, idle_seconds=idle) is due


def gates(folder: Path, *engines: str) -> list[RankGate]:
    return [
        RankGate(folder, rank=rank, num_ranks=len(engines), engine=engine)
        for rank, engine in enumerate(engines)
    ]


def test_all_ranks_exchange_before_the_same_step(tmp_path: Path) -> None:
    ranks = gates(tmp_path, "engine", "engine")
    exchanged: dict[int, int] = {}

    # The second rank has it ready three steps later, and is a step ahead of the first.
    for step in range(30):
        for rank, gate, at in ((1, ranks[1], step + 1), (0, ranks[0], step)):
            if step == 3 * rank:
                gate.waits(5)
            is_ready = step >= 3 * rank and rank not in exchanged
            if is_ready and gate.opens(5, step=at, idle_seconds=0.0):
                exchanged[rank] = at

    assert exchanged == {0: 3 + STEPS_AHEAD, 1: 3 + STEPS_AHEAD}


def test_a_rank_that_says_nothing_keeps_the_others_waiting(tmp_path: Path) -> None:
    first, _ = gates(tmp_path, "engine", "engine")

    first.waits(5)

    assert not any(first.opens(5, step=step, idle_seconds=9.0) for step in range(99))


def test_what_an_engine_before_this_one_left_does_not_count(tmp_path: Path) -> None:
    first, second = gates(tmp_path, "engine", "another")

    first.waits(5)
    second.waits(5)

    assert not first.opens(5, step=0, idle_seconds=9.0)


def test_what_others_count_on_is_known_before_it_goes_live(tmp_path: Path) -> None:
    first, second = gates(tmp_path, "engine", "engine")
    first.waits(5)
    second.waits(5)

    before = second.is_promised(5)
    first.opens(5, step=0, idle_seconds=0.0)

    assert not before
    assert second.is_promised(5)
    assert not second.is_promised(6)


@settings(max_examples=10)
@given(st.lists(st.sampled_from([0, 1, 2]), min_size=40, max_size=40), st.integers(0, 2))
def test_no_order_of_ranks_has_one_exchange_at_another_step(
    tmp_path_factory: pytest.TempPathFactory, order: list[int], late: int
) -> None:
    ranks = gates(tmp_path_factory.mktemp("ranks"), "engine", "engine", "engine")
    steps, exchanged = [0, 0, 0], dict[int, int]()

    for rank in order + [0, 1, 2] * 20:
        # No rank is much ahead of another: they need each other in every step.
        if steps[rank] > min(steps) + 2:
            continue
        if steps[rank] == (10 if rank == late else 2):
            ranks[rank].waits(5)
        ready = steps[rank] >= (10 if rank == late else 2) and rank not in exchanged
        if ready and ranks[rank].opens(5, step=steps[rank], idle_seconds=0.0):
            exchanged[rank] = steps[rank]
        steps[rank] += 1

    assert len(exchanged) == 3
    assert len({*exchanged.values()}) == 1
