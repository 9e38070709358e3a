from __future__ import annotations

from dataclasses import replace

import pytest

from specfleet_common import figures
from specfleet_common.wire.messages import DrafterCounters, WorkerState
from specfleet_common.wire.testing import fleet_state, trainer, version, worker_state

STOCK = worker_state(worker_id="a")
THIRD = replace(STOCK, worker_id="b", held=version(3), observed_digest=version(3).digest)
LOCAL = replace(STOCK, worker_id="c", observed_digest="local")


def counted(worker: WorkerState, steps: int, *accepted: int) -> WorkerState:
    counters = DrafterCounters(worker.observed_digest, steps, (steps, steps), accepted, 0, 1.0)
    return replace(worker, drafters=(*worker.drafters, counters))


@pytest.mark.parametrize(
    ("workers", "named"),
    [
        pytest.param([], "", id="nobody"),
        pytest.param([STOCK], "stock", id="stock"),
        pytest.param([LOCAL], "local", id="local"),
        pytest.param([STOCK, THIRD, THIRD], "3-00000003", id="most"),
        pytest.param([replace(STOCK, observed_digest="ab" * 32)], "abababab", id="unknown"),
        pytest.param([replace(STOCK, observed_digest="")], "", id="not-said"),
    ],
)
def test_a_drafter_is_named_as_people_know_it(workers: list[WorkerState], named: str) -> None:
    assert figures.drafter(workers, fleet_state(base=None)) == named


def test_a_tie_of_drafters_is_settled_the_same_whatever_the_order() -> None:
    state = fleet_state()

    assert figures.drafter([STOCK, THIRD], state) == figures.drafter([THIRD, STOCK], state)


def test_only_engines_with_a_lease_and_without_a_problem_are_adapted() -> None:
    broken, gone = replace(STOCK, engine_problem="no head"), replace(THIRD, live=False)

    assert figures.adapted([broken, gone, LOCAL]) == (LOCAL,)


def test_acceptance_is_of_the_drafters_that_run_now() -> None:
    ran_stock_before = counted(replace(STOCK, drafters=()), 1000, 0, 0)
    runs_third = counted(replace(ran_stock_before, observed_digest=version(3).digest), 100, 90, 60)

    assert figures.acceptance_length([runs_third]) == pytest.approx(2.5)


def test_few_steps_say_nothing() -> None:
    few = counted(replace(STOCK, drafters=()), figures.FEWEST_STEPS - 1, 90, 60)

    assert figures.acceptance_length([few]) is None


def test_losses_are_means_over_live_trainers_that_have_any() -> None:
    other = replace(STOCK, trainer=replace(trainer("training"), loss=(1.5, 2.25)))
    new = replace(STOCK, trainer=replace(trainer("waiting"), loss=()))
    gone = replace(STOCK, live=False, trainer=replace(trainer("training"), loss=(9.0, 9.0)))

    assert figures.losses([STOCK, other, new, gone]) == (2.0, 2.75)
    assert figures.losses([new]) == ()


def test_the_newest_state_is_of_the_lineage_with_most_engines() -> None:
    old, new = fleet_state(STOCK, THIRD, round=3), fleet_state(LOCAL, round=9)

    assert figures.newest([new, old]) is old
    assert figures.newest([]) is None
