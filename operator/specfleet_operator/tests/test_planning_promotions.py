"""Stories of promotions: what is shown of them, what is told, and what users decide."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from specfleet_common.wire.messages import PromotionState
from specfleet_common.wire.testing import version
from specfleet_operator.happenings import Happening
from specfleet_operator.judgeability import EVIDENCE_SECONDS
from specfleet_operator.observed import ObjectKey
from specfleet_operator.planning import plan
from specfleet_operator.tests.building import NOW, ended, promotion
from specfleet_operator.tests.world import World

NAME = "demo-12-0000000cdddd"


def scene(*promotions: PromotionState) -> World:
    """Return a fleet at rest with these promotions."""
    world = World(promotions=promotions)
    world.settle()
    return world


def told(world: World) -> list[tuple[str, str]]:
    """Return what is told of promotions in the next pass: reason and message."""
    events = world.reconcile().events
    return [(one.reason, one.message) for one in events if one.reason.startswith("Promotion")]


def conditions(world: World) -> dict[str, tuple[str, str]]:
    found = world.fleet["status"]["conditions"]
    return {one["type"]: (one["status"], one["reason"]) for one in found}


def test_a_promotion_is_told_from_its_opening_to_its_end() -> None:
    world = scene()
    steps = [
        promotion(12, "Pending", sentence="opened"),
        promotion(12, "Replay", sentence="walks came"),
        promotion(12, "Replay", sentence="needs about 900 more requests"),
        promotion(12, "Canary", sentence="better in replay"),
        promotion(12, "Canary", sentence="no harm", waits_for_approval=True),
        promotion(12, "Rolling", sentence="approved"),
        ended(12, "Promoted", sentence="runs on all engines"),
    ]

    heard = []
    for one in steps:
        world.promotions = (one,)
        heard += told(world)

    assert heard == [
        ("PromotionOpened", f"{NAME}: opened"),
        ("PromotionReplay", f"{NAME}: walks came"),
        ("PromotionCanary", f"{NAME}: better in replay"),
        ("PromotionWaitsForApproval", f"{NAME}: no harm"),
        ("PromotionRolling", f"{NAME}: approved"),
        ("PromotionPromoted", f"{NAME}: runs on all engines"),
    ]


def test_one_that_takes_the_place_of_another_is_told_with_the_others_end() -> None:
    world = scene(promotion(7, "Pending"))

    world.promotions = (promotion(12, "Pending"), ended(7, "Superseded"))

    assert [reason for reason, _ in told(world)] == ["PromotionOpened", "PromotionSuperseded"]


def test_a_version_that_is_withdrawn_later_is_a_warning() -> None:
    world = scene(promotion(12), ended(7, "Promoted"))

    world.promotions = (promotion(12), replace(ended(7, "Promoted"), outcome="RolledBack"))
    events = world.reconcile().events

    message = "demo-7-00000007dddd: Version 7 is in Done."
    assert events == (Happening("Warning", "PromotionRolledBack", message),)


def test_what_is_made_again_is_told_no_second_time() -> None:
    world = scene(promotion(12), ended(7))

    world.lose("DrafterPromotion")

    assert told(world) == []
    assert len(world.shown) == 2


def test_the_status_names_the_open_promotion_and_then_how_it_ended() -> None:
    world = World(promotions=(promotion(12, "Canary"), ended(7)), candidate=version(12))
    world.settle()
    open_one, drafter = world.fleet["status"]["promotion"], world.fleet["status"]["drafter"]
    world.promotions, world.candidate = (ended(12, "Promoted"), ended(7)), None
    world.settle()

    assert open_one == {"name": NAME, "phase": "Canary", "reason": "Canary"}
    assert drafter["candidate"] == "12-00000012"
    assert world.fleet["status"]["promotion"] == {
        "name": NAME,
        "phase": "Done",
        "reason": "Promoted",
    }
    assert "candidate" not in world.fleet["status"]["drafter"]


def test_a_decision_reaches_the_aggregator_and_leaves_with_the_promotion() -> None:
    world = scene(promotion(12, "Canary", waits_for_approval=True))
    world.decide(NAME, "Approve")
    world.settle()
    decided = world.decisions
    world.promotions = (ended(12, "Promoted"),)
    world.settle()

    assert decided == {"12-0000000cdddd": "Approve"}
    assert world.decisions == {}


def test_an_abort_holds_although_its_object_is_deleted_before_the_aggregator_acts() -> None:
    world = scene(promotion(12))
    world.decide(NAME, "Abort")
    world.settle()

    world.lose("DrafterPromotion")
    world.settle()

    assert world.decisions == {"12-0000000cdddd": "Abort"}


def test_neither_a_decision_nor_new_settings_of_promotion_restart_anything() -> None:
    world = World(promotions=(promotion(12),))
    world.edit(replicas=2)
    world.settle()
    before = {pod["metadata"]["uid"] for pod in world.pods}

    world.decide(NAME, "Approve")
    world.edit(
        replicas=2,
        promotion={
            "mode": "Manual",
            "pin": 3,
            "minimumGain": "2%",
            "falsePromotion": "1%",
            "minimumRounds": 3,
            "replay": {"maxSeconds": 60, "margin": "0%"},
            "canary": {"engines": 2, "blockSeconds": 5, "maxSeconds": 60},
            "rollout": {"enginesAtOnce": 2, "pauseSeconds": 0},
            "guards": {"tpot": "1%", "ttft": "1%", "errors": "2%"},
            "restartAfterRejections": 1,
            "historyLimit": 2,
        },
    )
    world.settle()

    assert {pod["metadata"]["uid"] for pod in world.pods} == before
    assert (
        '"pin": 3'
        in world.objects[ObjectKey("v1", "ConfigMap", "demo-settings")]["data"]["settings.json"]
    )


def test_the_number_that_is_shown_can_be_lowered_and_raised() -> None:
    all_of_them = (promotion(12), *(ended(number) for number in (9, 8, 7)))
    world = scene(*all_of_them)

    world.edit(promotion__historyLimit=2)
    world.promotions = all_of_them[:2]
    world.settle()
    few = {item["spec"]["version"] for item in world.shown.values()}
    world.edit(promotion__historyLimit=10)
    world.promotions = all_of_them
    world.settle()

    assert few == {12, 9}
    assert {item["spec"]["version"] for item in world.shown.values()} == {12, 9, 8, 7}


def test_a_promotion_that_cannot_be_shown_is_told_and_makes_no_spec_invalid() -> None:
    world = scene()
    world.refuses[ObjectKey("specfleet.dev/v1alpha1", "DrafterPromotion", NAME)] = "quota"

    world.promotions = (promotion(12),)
    world.reconcile()

    assert ("PromotionRefused", f"DrafterPromotion {NAME}: quota") in told(world)
    assert conditions(world)["SpecValid"] == ("True", "Valid")
    assert conditions(world)["Ready"] == ("True", "AsSpecified")


def test_promotions_are_shown_although_the_spec_cannot_be_carried_out() -> None:
    world = scene(promotion(12))
    world.facts = replace(world.facts, images=replace(world.facts.images, default_engine=""))

    world.promotions = (promotion(12, "Canary"),)
    world.settle()

    assert conditions(world)["SpecValid"] == ("False", "EngineImageMissing")
    assert world.shown[NAME]["status"]["phase"] == "Canary"


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        pytest.param({}, ("True", "NothingMissing"), id="judges"),
        pytest.param({"promotion__mode": "Paused"}, None, id="paused"),
    ],
)
def test_whether_candidates_can_be_judged_is_a_condition(
    changes: dict[str, Any], verdict: tuple[str, str] | None
) -> None:
    world = scene(promotion(12))

    world.edit(**changes)
    world.settle()

    assert conditions(world).get("Judgeable") == verdict


def test_a_lack_of_evidence_makes_no_fleet_unready() -> None:
    world = scene(promotion(12, "Pending"))

    assert conditions(world)["Judgeable"] == ("False", "NoEvidence")
    assert conditions(world)["Ready"] == ("True", "AsSpecified")


def test_the_fleet_is_looked_at_again_when_the_lack_of_evidence_becomes_news() -> None:
    world = scene(promotion(12, "Pending", started_at=NOW - 20))
    early, seconds = conditions(world)["Judgeable"], world.plans[-1].requeue_seconds
    world.now += seconds or 0
    world.settle()

    assert (early, seconds) == (("True", "NothingMissing"), EVIDENCE_SECONDS - 20)
    assert conditions(world)["Judgeable"] == ("False", "NoEvidence")
    assert world.plans[-1].requeue_seconds is None


def test_an_operator_that_has_just_started_knows_no_better_than_the_one_before() -> None:
    world = scene(promotion(12, "Pending"))
    before = world.fleet["status"]

    todo = plan(replace(world.observed(), aggregator=None), world.facts, world.now)

    assert todo.status == before
    assert (todo.apply, todo.statuses, todo.delete, todo.events) == ((), (), (), ())
