"""Which promotions are shown as objects, and when they are written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from specfleet_common.lineage import Lineage
from specfleet_common.wire.messages import FleetState, PromotionState
from specfleet_operator.aggregation import aggregation
from specfleet_operator.mirroring import Mirror, mirror
from specfleet_operator.observed import Object
from specfleet_operator.rendering.subject import Owner
from specfleet_operator.tests.building import (
    LINEAGE,
    NOW,
    ended,
    promotion,
    silent,
    state,
    view,
)

OWNER = Owner("demo", "ml", "uid-of-demo")
OTHER = Lineage("another target", "mtp", "layout", "float32", "shapes")


def says(*promotions: PromotionState, lineage: Lineage = LINEAGE) -> FleetState:
    return state(lineage=lineage, promotions=promotions)


def mirrored(
    *states: FleetState, children: tuple[Object, ...] = (), limit: int | None = 10
) -> Mirror:
    return mirror(OWNER, aggregation(view(*states), NOW), children, limit=limit)


def carried_out(todo: Mirror) -> tuple[dict[str, Any], ...]:
    """Return the objects of a fleet that had none, after all is done."""
    statuses = {item["metadata"]["name"]: item["status"] for item in todo.statuses}
    return tuple({**item, "status": statuses[item["metadata"]["name"]]} for item in todo.apply)


def names(items: tuple[Any, ...]) -> list[str]:
    return [item.name if hasattr(item, "name") else str(item["metadata"]["name"]) for item in items]


def test_a_promotion_gets_an_object_and_a_status_at_once() -> None:
    todo = mirrored(says(promotion(12)))

    assert names(todo.apply) == names(todo.statuses) == ["demo-12-0000000cdddd"]
    assert todo.statuses[0]["status"]["phase"] == "Replay"


def test_nothing_is_written_again() -> None:
    there = carried_out(mirrored(says(promotion(12), ended(7))))

    todo = mirrored(says(promotion(12), ended(7)), children=there)

    assert todo == Mirror()


def test_only_the_status_is_written_when_a_promotion_goes_on() -> None:
    there = carried_out(mirrored(says(promotion(12))))

    todo = mirrored(says(promotion(12, "Canary")), children=there)

    assert (todo.apply, todo.delete) == ((), ())
    assert todo.statuses[0]["status"]["phase"] == "Canary"


def test_what_a_user_decides_is_seen_in_the_status_and_not_written_over() -> None:
    (item,) = carried_out(mirrored(says(promotion(12))))
    decided = {
        **item,
        "metadata": {**item["metadata"], "generation": 2},
        "spec": {**item["spec"], "decision": "Approve"},
    }

    todo = mirrored(says(promotion(12)), children=(decided,))

    assert todo.apply == ()
    assert todo.statuses[0]["status"]["observedGeneration"] == 2


def test_an_object_that_was_deleted_is_made_again() -> None:
    first, second = carried_out(mirrored(says(promotion(12), ended(7))))

    todo = mirrored(says(promotion(12), ended(7)), children=(first,))

    assert names(todo.apply) == names((second,))
    assert names(todo.statuses) == names((second,))


@pytest.mark.parametrize(
    ("limit", "left"),
    [(10, [12, 9, 8, 7]), (4, [12, 9, 8, 7]), (3, [12, 9, 8]), (1, [12])],
)
def test_those_that_ended_first_go_first(limit: int, left: list[int]) -> None:
    there = carried_out(mirrored(says(promotion(12), ended(9), ended(8), ended(7))))

    todo = mirrored(says(promotion(12), ended(9)), children=there, limit=limit)

    kept = {item["spec"]["version"] for item in there if item["metadata"]["name"] in names(there)}
    gone = {int(name.split("-")[1]) for name in names(todo.delete)}
    assert sorted(kept - gone, reverse=True) == left
    assert (todo.apply, todo.statuses) == ((), ())


def test_what_would_be_removed_is_not_made() -> None:
    old = says(*(ended(number) for number in (5, 4, 3)), lineage=OTHER)

    todo = mirrored(says(promotion(12), ended(9)), old, limit=3)

    assert sorted(names(todo.apply)) == [
        "demo-12-0000000cdddd",
        "demo-5-00000005dddd",
        "demo-9-00000009dddd",
    ]
    assert todo.delete == ()


def test_an_open_one_stays_however_few_are_shown() -> None:
    both = (says(promotion(12)), says(promotion(3), lineage=OTHER))

    todo = mirrored(*both, children=carried_out(mirrored(*both)), limit=1)

    assert todo == Mirror()


@pytest.mark.parametrize("seen", [None, silent(seconds=1), silent(seconds=100), view()])
def test_while_the_aggregator_says_nothing_all_stays_as_it_is(seen: Any) -> None:
    there = carried_out(mirrored(says(promotion(12), ended(7))))

    todo = mirror(OWNER, aggregation(seen, NOW), there, limit=1)

    assert todo == Mirror()


def test_nothing_is_removed_while_the_spec_says_nothing() -> None:
    there = carried_out(mirrored(says(*(ended(number) for number in range(20)))))

    assert mirrored(says(), children=there, limit=None) == Mirror()


def test_a_withdrawal_reaches_the_object_of_the_promotion_that_it_undoes() -> None:
    there = carried_out(mirrored(says(promotion(12), ended(7, "Promoted"))))
    withdrawn = replace(ended(7, "Promoted"), outcome="RolledBack")

    todo = mirrored(says(promotion(12), withdrawn), children=there)

    assert [item["status"]["outcome"] for item in todo.statuses] == ["RolledBack"]
