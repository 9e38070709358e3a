"""Which of the users' decisions the aggregator is told."""

from __future__ import annotations

from typing import Any

import pytest

from specfleet_common.api.learning import MAX_DECISIONS
from specfleet_common.api.promotion import Decision
from specfleet_common.wire.messages import PromotionState
from specfleet_operator.aggregation import Judged, aggregation
from specfleet_operator.deciding import decisions
from specfleet_operator.observed import Object
from specfleet_operator.rendering.config import settings
from specfleet_operator.rendering.promotions import promotion_object, promotion_status
from specfleet_operator.rendering.subject import Owner
from specfleet_operator.tests.building import (
    LINEAGE,
    NOW,
    ended,
    promotion,
    silent,
    state,
    subject,
    view,
)

OWNER = Owner("demo", "ml", "uid-of-demo")
OPEN = promotion(12)
APPROVED, ABORTED = {OPEN.id: Decision.APPROVE}, {OPEN.id: Decision.ABORT}


def shown(one: PromotionState, decision: str | None = None) -> dict[str, Any]:
    """Return the object of a promotion as a user has left it."""
    item = promotion_object(OWNER, Judged(LINEAGE.id, one))
    wish = {} if decision is None else {"decision": decision}
    status = promotion_status(one, generation=1)
    return {**item, "spec": {**item["spec"], **wish}, "status": status}


def told(decided: dict[str, Decision]) -> Object:
    """Return the settings with what the aggregator was told before."""
    return settings(subject(), decided)


def decided(*children: Object, says: tuple[PromotionState, ...] | None = (OPEN,)) -> Any:
    seen = silent(seconds=1) if says is None else view(state(lineage=LINEAGE, promotions=says))
    return decisions("demo", children, aggregation(seen, NOW))


@pytest.mark.parametrize("decision", ["Approve", "Abort"])
def test_what_a_user_decides_is_passed_on(decision: str) -> None:
    assert decided(shown(OPEN, decision)) == {OPEN.id: decision}


def test_where_nobody_decides_nothing_is_passed_on() -> None:
    assert decided(shown(OPEN)) == {}


def test_an_approval_can_be_taken_back() -> None:
    assert decided(shown(OPEN), told(APPROVED)) == {}


def test_an_abort_stays_although_its_object_was_made_again() -> None:
    assert decided(shown(OPEN), told(ABORTED)) == ABORTED
    assert decided(told(ABORTED)) == ABORTED
    assert decided(shown(OPEN, "Approve"), told(ABORTED)) == ABORTED


def test_a_decision_ends_with_its_promotion() -> None:
    over = ended(12, "Aborted")

    assert decided(shown(over, "Abort"), told(ABORTED), says=(over,)) == {}
    assert decided(shown(OPEN, "Abort"), told(ABORTED), says=(over,)) == {}
    assert decided(told(ABORTED), says=(promotion(20),)) == {}


def test_decisions_stay_while_the_aggregator_is_silent() -> None:
    assert decided(shown(OPEN, "Approve"), told(APPROVED), says=None) == APPROVED
    assert decided(told(ABORTED), says=None) == ABORTED
    assert decided(shown(ended(12), "Abort"), told(ABORTED), says=None) == {}


def test_settings_that_somebody_spoiled_say_nothing() -> None:
    spoiled = {**told(ABORTED), "data": {"settings.json": "{"}}

    assert decided(shown(OPEN), spoiled) == {}
    assert decided(shown(OPEN, "Abort"), {**spoiled, "data": {}}) == ABORTED


def test_no_more_are_passed_on_than_an_aggregator_takes() -> None:
    many = [shown(promotion(number), "Approve") for number in range(MAX_DECISIONS + 5)]

    found = decided(*many, says=None)

    assert len(found) == MAX_DECISIONS
    assert promotion(MAX_DECISIONS + 4).id in found
    assert promotion(4).id not in found
