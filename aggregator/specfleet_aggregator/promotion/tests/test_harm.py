"""What follows harm, and what is watched after a promotion."""

from __future__ import annotations

from specfleet_aggregator.promotion.deciding import is_running, is_watching
from specfleet_aggregator.promotion.tests.worlds import (
    World,
    kinds,
    policy,
    promoted,
    version,
    world,
)
from specfleet_common.judge.verdicts import Outcome
from specfleet_common.store.entries import (
    StableWithdrawn,
    TrainingRestarted,
)


def test_harm_begins_training_again_from_stable() -> None:
    found = world("Replay")
    found.judged(Outcome.HARMFUL)

    _, restarted = found.settle()

    assert isinstance(restarted, TrainingRestarted)
    assert (restarted.number, restarted.after) == (0, 1)
    assert found.history.restarts_from(1) is not None
    found.publish()
    assert found.history.restarts_from(2) is None


def test_rejections_in_a_row_begin_training_again() -> None:
    found = World(policy=policy(restart_after_rejections=2))
    for _ in range(2):
        found.publish()
        found.settle()
        found.judged(Outcome.NOT_BETTER)
        made = found.settle()

    assert kinds(made) == ["Replay", "Rejected", "training_restarted"]


def test_a_restart_that_a_version_overtook_is_made_again() -> None:
    found = world("Replay")
    found.judged(Outcome.HARMFUL)
    found.settle()
    found.entries.append(version(2, parent=1))
    found.policy = policy(minimum_rounds=10)

    (again,) = found.settle()

    assert isinstance(again, TrainingRestarted)
    assert (again.number, again.after) == (0, 2)


def test_a_stable_version_that_is_worse_than_stock_is_withdrawn() -> None:
    found = promoted()
    found.judged(Outcome.HARMFUL)

    withdrawn, restarted = found.settle()

    assert isinstance(withdrawn, StableWithdrawn)
    assert isinstance(restarted, TrainingRestarted)
    assert found.history.stable == found.history.stock
    assert found.history.promotions[0].outcome == "RolledBack"
    assert withdrawn.digest in found.history.rejected


def test_what_was_compared_with_a_withdrawn_version_ends() -> None:
    found = promoted()
    found.publish()
    found.settle()
    history = found.history
    assert history.watched is not None
    found.entries.append(
        StableWithdrawn("stable_withdrawn", 0.0, history.watched.id, 1, f"{1:064x}", "", "", 0)
    )

    running = is_running(found.history, found.policy)
    found.settle()

    assert running is None
    assert found.outcomes() == ["Promoted", "Inconclusive"]


def test_stable_is_compared_with_stock_unless_a_candidate_is_on_live_engines() -> None:
    found = promoted()
    assert is_watching(found.history, found.policy) is not None
    found.publish()
    found.settle()
    for outcome in (Outcome.UNDECIDED, Outcome.PASSED):
        found.judged(outcome)
        found.settle()

    assert found.open is not None
    assert found.open.phase == "Canary"
    assert is_watching(found.history, found.policy) is None
