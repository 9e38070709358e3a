"""What users may decide about a promotion, and what they are told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specfleet_cli.promotions.deciding import DecisionError, check, named, what_next
from specfleet_cli.promotions.listing import Listed
from specfleet_common.api.promoting import Mode
from specfleet_common.api.promotion import Decision
from specfleet_common.wire.messages import PromotionState

STATE = PromotionState("12-aa", 12, "a" * 64, "Canary", "", "", 1.0)
OPEN = Listed("12-aa", "tiny", "0" * 16, STATE)
ENDED = replace(OPEN, state=replace(STATE, phase="Done", outcome="Rejected"))
APPROVED = replace(OPEN, decision=Decision.APPROVE)
ABORTED = replace(OPEN, decision=Decision.ABORT)
WAITING = replace(OPEN, state=replace(STATE, waits_for_approval=True))


@pytest.mark.parametrize(
    ("promotion", "decision", "mode"),
    [
        pytest.param(WAITING, Decision.APPROVE, Mode.MANUAL, id="approve-what-waits"),
        pytest.param(OPEN, Decision.APPROVE, Mode.MANUAL, id="approve-in-advance"),
        pytest.param(APPROVED, Decision.APPROVE, Mode.MANUAL, id="approve-again"),
        pytest.param(OPEN, Decision.ABORT, Mode.AUTOMATIC, id="abort"),
        pytest.param(APPROVED, Decision.ABORT, Mode.MANUAL, id="abort-what-was-approved"),
        pytest.param(ABORTED, Decision.ABORT, Mode.MANUAL, id="abort-again"),
        pytest.param(OPEN, Decision.ABORT, Mode.PAUSED, id="abort-while-paused"),
    ],
)
def test_a_decision_that_can_be(promotion: Listed, decision: Decision, mode: Mode) -> None:
    check(promotion, decision, mode)


@pytest.mark.parametrize(
    ("promotion", "decision", "mode", "words"),
    [
        pytest.param(ENDED, Decision.APPROVE, Mode.MANUAL, "has ended, Rejected", id="ended"),
        pytest.param(ENDED, Decision.ABORT, Mode.MANUAL, "has ended, Rejected", id="abort-ended"),
        pytest.param(ABORTED, Decision.APPROVE, Mode.MANUAL, "was aborted", id="aborted"),
        pytest.param(OPEN, Decision.APPROVE, Mode.AUTOMATIC, "mode is Automatic", id="automatic"),
        pytest.param(OPEN, Decision.APPROVE, Mode.PAUSED, "mode is Paused", id="paused"),
    ],
)
def test_a_decision_that_cannot_be(
    promotion: Listed, decision: Decision, mode: Mode, words: str
) -> None:
    with pytest.raises(DecisionError, match=words):
        check(promotion, decision, mode)


def test_a_name_that_is_unknown_says_what_there_is() -> None:
    many = [replace(OPEN, name=f"{number}-aa") for number in range(7)]

    with pytest.raises(DecisionError, match=r"9-aa: is no promotion here.* or 2 older ones"):
        named(many, "9-aa")
    with pytest.raises(DecisionError, match="no version has been a candidate yet"):
        named([], "9-aa")


@pytest.mark.parametrize(
    ("promotion", "decision", "words"),
    [
        pytest.param(WAITING, Decision.APPROVE, "is approved: the candidate now goes", id="now"),
        pytest.param(OPEN, Decision.APPROVE, "approved in advance", id="in-advance"),
        pytest.param(OPEN, Decision.ABORT, "is aborted, for good", id="abort"),
        pytest.param(ABORTED, Decision.ABORT, "is already aborted", id="again"),
    ],
)
def test_what_comes_next_is_said(promotion: Listed, decision: Decision, words: str) -> None:
    said = what_next(promotion, decision, follow="specfleet promotions 12-aa")

    assert words in said
    assert said.endswith("To follow it: specfleet promotions 12-aa")
