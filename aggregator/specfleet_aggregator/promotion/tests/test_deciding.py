"""What is decided, and when."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specfleet_aggregator.promotion.deciding import Findings, decide
from specfleet_aggregator.promotion.history import History, fold
from specfleet_aggregator.promotion.tests.worlds import (
    World,
    judgement,
    kinds,
    opened,
    policy,
    promoted,
    version,
    world,
)
from specfleet_common.api.promotion import Decision
from specfleet_common.judge.verdicts import Outcome
from specfleet_common.store.entries import (
    PromotionEnded,
    PromotionOpened,
)


def test_the_newest_version_is_a_candidate_once_there_were_rounds_enough() -> None:
    early = World(policy=policy(minimum_rounds=3))
    for _ in range(2):
        early.publish()
    assert early.settle() == []

    early.publish()
    (entry,) = early.settle()

    assert isinstance(entry, PromotionOpened)
    assert (entry.number, entry.stable_number) == (3, 0)
    assert entry.promotion == f"3-{entry.digest[:12]}"


def test_a_candidate_that_is_what_serves_already_is_not_judged() -> None:
    found = World()
    found.publish(digest=version(0).digest)

    assert found.settle() == []


def test_first_evidence_begins_the_replay() -> None:
    found = world("Pending")
    found.judged(Outcome.TOO_LITTLE_TRAFFIC)

    assert kinds(found.settle()) == ["Replay"]


@pytest.mark.parametrize(
    ("phase", "outcome", "breached", "expected"),
    [
        pytest.param("Replay", Outcome.PASSED, "", "Canary", id="replay-passed"),
        pytest.param("Replay", Outcome.NOT_BETTER, "", "Rejected", id="replay-not-better"),
        pytest.param("Replay", Outcome.HARMFUL, "", "Rejected", id="replay-harmful"),
        pytest.param("Replay", Outcome.UNDECIDED, "", "", id="replay-undecided"),
        pytest.param(
            "Replay", Outcome.CONTRADICTORY_ARMS, "", "Inconclusive", id="replay-contradictory"
        ),
        pytest.param("Canary", Outcome.PASSED, "", "Rolling", id="canary-passed"),
        pytest.param("Canary", Outcome.NO_DATA, "", "", id="canary-no-data"),
        pytest.param("Canary", Outcome.HARMFUL, "", "Rejected", id="canary-harmful"),
        pytest.param("Canary", Outcome.PASSED, "tpot", "Rejected", id="canary-breach"),
        pytest.param("Rolling", Outcome.UNDECIDED, "", "", id="rolling"),
        pytest.param("Rolling", Outcome.HARMFUL, "", "Rejected", id="rolling-harmful"),
        pytest.param("Rolling", Outcome.PASSED, "ttft", "Rejected", id="rolling-breach"),
    ],
)
def test_evidence_leads_to(phase: str, outcome: Outcome, breached: str, expected: str) -> None:
    found = world(phase)
    found.judged(outcome, breached=breached)

    entry = found.decide()

    assert kinds([entry] if entry else []) == ([expected] if expected else [])


def test_a_guard_that_does_not_hold_is_harm() -> None:
    found = world("Canary")
    found.judged(Outcome.PASSED, breached="tpot")

    entry = found.decide()

    assert isinstance(entry, PromotionEnded)
    assert entry.harmful


def test_a_candidate_that_runs_everywhere_is_stable() -> None:
    found = promoted()

    assert found.outcomes() == ["Promoted"]
    assert found.history.stable is not None
    assert found.history.stable.number == 1


@pytest.mark.parametrize("phase", ["Pending", "Replay", "Canary"])
def test_a_phase_without_a_decision_is_inconclusive_in_the_end(phase: str) -> None:
    found = world(phase, replay_seconds=100.0, canary_seconds=200.0)
    found.judgements.clear()
    seconds = 200.0 if phase == "Canary" else 100.0
    found.now += seconds - 1
    assert found.decide() is None

    found.now += 1
    (entry, *_) = found.settle()

    assert isinstance(entry, PromotionEnded)
    assert (entry.outcome, entry.phase) == ("Inconclusive", phase)
    assert entry.sentence == f"No evidence within {seconds:.0f} s."


def test_rolling_ends_when_no_engine_changes() -> None:
    found = world("Rolling", canary_seconds=200.0)
    findings = Findings(judgements={found.history.promotions[0].id: judgement(Outcome.PASSED)})

    def outcome(idle_seconds: float) -> object:
        given = replace(findings, idle_seconds=idle_seconds)
        return decide(found.history, found.policy, given, lineage_id="l", now=9e9)

    assert outcome(199.0) is None
    assert outcome(200.0) is not None


def test_manual_mode_waits_for_approval_and_remembers_that_the_canary_passed() -> None:
    found = world("Canary", mode="Manual")
    assert found.open is not None
    found.judged(Outcome.PASSED)
    passed = found.settle()
    found.judged(Outcome.UNDECIDED)
    found.now += 1e6
    waiting = found.settle()
    found.policy = policy({found.open.id: Decision.APPROVE}, mode="Manual")

    approved = found.settle()

    assert (kinds(passed), waiting, kinds(approved)) == (["Canary"], [], ["Rolling"])


def test_a_candidate_that_waits_for_approval_is_still_watched() -> None:
    found = world("Canary", mode="Manual")
    found.judged(Outcome.PASSED)
    found.settle()
    found.judged(Outcome.HARMFUL)

    found.settle()

    assert found.outcomes() == ["Rejected"]


def test_paused_decides_nothing_but_what_a_user_decides() -> None:
    found = world("Canary")
    assert found.open is not None
    found.judged(Outcome.HARMFUL)
    found.policy = policy(mode="Paused")
    paused = found.settle()
    found.policy = policy({found.open.id: Decision.ABORT}, mode="Paused")

    aborted = found.settle()

    assert (paused, kinds(aborted)) == ([], ["Aborted"])


def test_a_pin_ends_what_is_open_and_opens_nothing() -> None:
    found = world("Canary")
    found.policy = policy(pin=0)

    ended = found.settle()
    found.publish()

    assert kinds(ended) == ["Aborted"]
    assert found.settle() == []


def test_a_newer_version_takes_the_place_of_one_without_evidence() -> None:
    found = world("Pending")
    found.publish()
    early = found.settle()
    found.now += 60.0

    late = found.settle()

    assert (early, kinds(late)) == ([], ["Superseded", "promotion_opened"])
    assert found.open is not None
    assert found.open.candidate.number == 2
    assert found.history.spent == ()


def test_a_newer_version_does_not_disturb_one_with_evidence() -> None:
    found = world("Replay")
    found.judged(Outcome.UNDECIDED)
    found.publish()
    found.now += 1000.0

    assert found.settle() == []


def test_what_was_spent_is_remembered_in_the_next_budget() -> None:
    found = promoted()
    first = found.history.promotions[0].opened.rules.passing
    found.publish()
    found.settle()
    assert found.open is not None
    second = found.open.opened.rules.passing

    assert first == pytest.approx(0.05 * 0.6079, rel=1e-3)
    assert second == pytest.approx(first * 1.25, rel=1e-3)


def test_a_ledger_of_another_aggregator_is_followed() -> None:
    history = fold(History(), [version(0), version(1), opened(1)])

    assert history.open is not None
    assert history.length == 3
