"""What is foreseen is what the operator then does, and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from specfleet_operator.observed import Object, ObjectKey
from specfleet_operator.preview.foreseeing import ChangedPod, Foresight, foresee
from specfleet_operator.reading import Problem
from specfleet_operator.tests.building import CONTROL, FACTS, fleet
from specfleet_operator.tests.world import World


def running(**changes: Any) -> World:
    """Return a fleet that runs as its spec says."""
    world = World(fleet=fleet(**changes))
    world.settle()
    return world


def foreseen(world: World, after: dict[str, Any]) -> Foresight:
    changed = {**after, "metadata": {**after["metadata"], "generation": 2}}
    found = foresee(world.fleet, changed, tuple(world.objects.values()), world.facts)
    assert isinstance(found, Foresight), found
    return found


def changed_keys(found: Foresight) -> set[str]:
    return {str(one.key) for one in found.objects}


def test_the_same_spec_changes_nothing() -> None:
    world = running(replicas=2)

    found = foresee(world.fleet, world.fleet, tuple(world.objects.values()), world.facts)

    assert found == Foresight((), ())


def test_a_new_fleet_is_all_created_without_keys_and_records() -> None:
    found = foresee(None, fleet(replicas=2), (), FACTS)

    assert isinstance(found, Foresight)
    assert all(one.before is None for one in found.objects)
    kinds = {one.key.kind for one in found.objects}
    assert {"StatefulSet", "Service", "ConfigMap"} <= kinds
    assert not kinds & {"Secret", "ControllerRevision"}
    assert found.pods == (
        ChangedPod("demo-aggregator-0", "created"),
        ChangedPod("demo-main-0", "created"),
        ChangedPod("demo-main-1", "created"),
    )


def test_scaling_restarts_nothing() -> None:
    world = running(replicas=2)

    found = foreseen(world, fleet(replicas=3))

    assert found.pods == (ChangedPod("demo-main-2", "created"),)
    assert "StatefulSet demo-main" in changed_keys(found)
    assert "StatefulSet demo-aggregator" not in changed_keys(found)


def test_learning_settings_change_one_file_and_restart_nothing() -> None:
    world = running()

    found = foreseen(world, fleet(aggregation__localSteps=7))

    assert found.pods == ()
    (settings,) = found.objects
    assert settings.key == ObjectKey("v1", "ConfigMap", "demo-settings")
    assert json.loads(_data(settings.before))["localSteps"] == 100
    assert json.loads(_data(settings.after))["localSteps"] == 7


def test_another_image_replaces_every_engine_and_not_the_aggregator() -> None:
    world = running(replicas=2, cohorts=[CONTROL])

    found = foreseen(world, fleet(replicas=2, cohorts=[CONTROL], engine__image="vllm:2"))

    assert set(found.pods) == {
        ChangedPod("demo-main-0", "replaced"),
        ChangedPod("demo-main-1", "replaced"),
        ChangedPod("demo-control-0", "replaced"),
    }


def test_a_cohort_that_is_named_no_more_goes_with_its_pods() -> None:
    world = running(cohorts=[CONTROL])

    found = foreseen(world, fleet())

    (gone,) = [one for one in found.objects if one.after is None]
    assert gone.key == ObjectKey("apps/v1", "StatefulSet", "demo-control")
    assert found.pods == (ChangedPod("demo-control-0", "removed"),)


def test_an_upgraded_operator_shows_no_change_that_the_spec_does_not_bring() -> None:
    world = running()
    world.upgrade("2")

    found = foreseen(world, fleet(replicas=2))

    assert found.pods == (ChangedPod("demo-main-1", "created"),)


def test_a_spec_that_cannot_be_carried_out_is_a_problem() -> None:
    facts = replace(FACTS, images=replace(FACTS.images, default_engine=""))

    found = foresee(None, fleet(), (), facts)

    assert isinstance(found, Problem)
    assert found.reason == "EngineImageMissing"


def test_what_mends_a_wrong_spec_is_compared_with_what_runs() -> None:
    world = running(replicas=1)
    world.edit(trainer__depthWeights=["1"])

    found = foreseen(world, fleet(replicas=2))

    assert "StatefulSet demo-main" in changed_keys(found)
    assert "Service demo" not in changed_keys(found)
    assert found.pods == (ChangedPod("demo-main-1", "created"),)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"replicas": 3}, id="scaling"),
        pytest.param({"engine__image": "vllm:2"}, id="image"),
        pytest.param({"cohorts": [CONTROL]}, id="cohort"),
        pytest.param({"aggregation__localSteps": 7}, id="learning"),
    ],
)
def test_what_is_foreseen_is_what_happens(changes: dict[str, Any]) -> None:
    world = running(replicas=2)
    found = foreseen(world, fleet(**{"replicas": 2, **changes}))
    pods = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in world.pods}

    world.edit(**{"replicas": 2, **changes})
    first = world.reconcile()
    world.settle()

    applied = {str(_key(item)) for item in first.apply if item["kind"] != "ControllerRevision"}
    assert changed_keys(found) == applied
    after = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in world.pods}
    assert {(one.name, one.fate) for one in found.pods} == {
        (name, "created" if name not in pods else "replaced")
        for name, uid in after.items()
        if pods.get(name) != uid
    }


def _key(item: Object) -> ObjectKey:
    return ObjectKey(item["apiVersion"], item["kind"], item["metadata"]["name"])


def _data(item: Object | None) -> str:
    assert item is not None
    return str(item["data"]["settings.json"])
