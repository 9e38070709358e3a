"""Stories of planning: what one change does to a fleet, and what it leaves alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from specfleet_operator.naming import COHORT_LABEL
from specfleet_operator.observed import key_of
from specfleet_operator.planning import plan
from specfleet_operator.tests.building import CONTROL, FACTS, NOW
from specfleet_operator.tests.world import World, is_ready


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"replicas": 3}, id="scaling"),
        pytest.param({"aggregation__localSteps": 7}, id="aggregation"),
        pytest.param({"aggregation__outer__learningRate": "0.5"}, id="outer-step"),
        pytest.param({"trainer__learningRate": "0.002"}, id="learning-rate"),
        pytest.param({"networkPolicy__ingressFrom": []}, id="network-policy"),
        pytest.param({"cohorts": [CONTROL]}, id="another-cohort"),
    ],
)
def test_no_pod_is_replaced_by_changing(change: dict[str, Any]) -> None:
    world = World()
    world.edit(replicas=2)
    world.settle()
    before = {pod["metadata"]["uid"] for pod in world.pods}

    world.edit(**{"replicas": 2, **change})
    world.settle()

    assert before <= {pod["metadata"]["uid"] for pod in world.pods}


def test_upgrading_the_operator_restarts_nothing_not_even_after_an_edit() -> None:
    world = World()
    world.edit(replicas=2, cohorts=[CONTROL])
    world.settle()
    before = {pod["metadata"]["uid"]: pod["spec"] for pod in world.pods}

    world.upgrade("2")
    world.settle()
    world.edit(replicas=3, cohorts=[CONTROL], trainer__learningRate="0.002")
    world.settle()

    after = {pod["metadata"]["uid"]: pod["spec"] for pod in world.pods}
    assert before.items() <= after.items()
    images = {pod["spec"]["containers"][0]["image"] for pod in world.engines}
    assert images == {"vllm:1"}


def test_a_user_adopts_what_the_new_operator_renders_by_an_annotation() -> None:
    world = World()
    world.edit(replicas=2)
    world.settle()
    world.upgrade("2")

    world.fleet["metadata"]["annotations"] = {"specfleet.dev/render": "2"}
    world.settle()

    assert {pod["spec"]["containers"][0]["image"] for pod in world.engines} == {"vllm:2"}


def test_a_lost_record_of_a_template_is_found_again_where_it_runs() -> None:
    world = World()
    world.settle()
    before = {pod["metadata"]["uid"] for pod in world.pods}
    world.upgrade("2")

    world.lose("ControllerRevision")
    world.settle()

    assert {pod["metadata"]["uid"] for pod in world.pods} == before


def test_old_templates_are_forgotten_once_no_pod_needs_them() -> None:
    world = World()
    world.settle()
    for image in ("a", "b", "c"):
        world.edit(engine__image=image)
        world.settle()

    kept = [
        item["metadata"]["labels"][COHORT_LABEL]
        for key, item in world.objects.items()
        if key.kind == "ControllerRevision" and "history" not in key.name
    ]

    assert sorted(kept) == ["aggregator", "main"]


def test_a_template_that_never_worked_is_left_by_another_one() -> None:
    world = World(broken_images={"broken"})
    world.edit(replicas=3, engine__image="broken")
    world.settle()

    world.edit(replicas=3, engine__image="vllm:a")
    world.settle()

    assert [is_ready(pod) for pod in world.engines] == [True] * 3


def test_a_broken_template_costs_one_engine_and_no_more() -> None:
    world = World(broken_images={"broken"})
    world.edit(replicas=3, engine__image="vllm:a")
    world.settle()

    world.edit(replicas=3, engine__image="broken")
    world.settle()

    assert sorted(is_ready(pod) for pod in world.engines) == [False, True, True]


def test_a_removed_cohort_goes_with_everything_that_was_its_own() -> None:
    world = World()
    world.edit(cohorts=[CONTROL])
    world.settle()

    world.edit()
    world.settle()

    ours = [key for key in world.objects if "history" not in key.name]
    assert [key for key in ours if "control" in key.name] == []


def test_a_wrong_spec_changes_nothing_and_says_which_field_is_wrong() -> None:
    world = World()
    world.edit(replicas=2)
    world.settle()

    world.edit(replicas=2, engine__args=["--port=1"])
    todo = world.reconcile()

    assert (todo.apply, todo.delete, todo.delete_pods) == ((), (), ())
    found = {one["type"]: one for one in todo.status["conditions"]}
    assert found["SpecValid"]["status"] == found["Ready"]["status"] == "False"
    assert found["SpecValid"]["message"].startswith("spec.engine.args: --port is set by specfleet")
    assert (found["Serving"]["status"], todo.status["engines"]) == ("True", "2/2")
    assert todo.status["observedGeneration"] == world.fleet["metadata"]["generation"]


def test_what_the_api_server_refuses_is_the_fleets_problem_and_stops_everything_else() -> None:
    world = World()
    world.edit(replicas=2, cohorts=[CONTROL])
    world.settle()
    [main] = [key for key in world.objects if key.kind == "StatefulSet" and "main" in key.name]
    world.refuses[main] = 'spec.template.spec.affinity: Invalid value: "x"'

    world.edit(replicas=2, engine__image="b")
    world.reconcile()
    world.step()
    todo = world.reconcile()

    [spec_valid] = [one for one in todo.status["conditions"] if one["type"] == "SpecValid"]
    assert (spec_valid["status"], spec_valid["reason"]) == ("False", "Refused")
    assert "StatefulSet demo-main: spec.template.spec.affinity" in spec_valid["message"]
    assert (todo.delete, todo.delete_pods) == ((), ())
    world.refuses.clear()
    world.settle()
    assert len(world.engines) == 2


def test_an_operator_that_has_just_started_does_not_take_a_refusal_back() -> None:
    world = World()
    [network] = [item for item in world.reconcile().apply if item["metadata"]["name"] == "demo"][:1]
    world = World(refuses={key_of(network): "no"})
    world.settle()
    before = world.fleet["status"]

    world.refused = ()
    todo = world.reconcile()

    assert before["conditions"][0]["reason"] == "Refused"
    assert (todo.status, todo.events) == (before, ())


def test_a_fleet_that_is_being_deleted_is_left_alone() -> None:
    world = World()
    world.settle()
    world.fleet["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    world.lose("StatefulSet")

    todo = world.reconcile()

    assert (todo.apply, todo.delete, todo.events) == ((), (), ())


def test_nothing_runs_before_there_is_something_to_trust() -> None:
    world = World(trust=None)

    todo = world.reconcile()

    assert "StatefulSet" not in {item["kind"] for item in todo.apply}


def test_settings_that_changed_are_pointed_out_to_the_aggregator_once_they_are_there() -> None:
    world = World()
    world.settle()

    world.edit(aggregation__localSteps=7)
    first = world.reconcile()
    second = world.reconcile()
    third = world.reconcile()

    assert [bool(todo.annotate_pods) for todo in (first, second, third)] == [False, True, False]
    assert list(second.annotate_pods) == ["demo-aggregator-0"]


def test_an_operator_that_has_just_started_takes_nothing_back() -> None:
    world = World()
    world.settle()
    before = world.fleet["status"]

    todo = plan(replace(world.observed(), aggregator=None), FACTS, NOW + 60)

    assert todo.status == before
    assert todo.events == ()


def test_scaling_to_zero_keeps_the_fleet() -> None:
    world = World()
    world.settle()

    world.edit(replicas=0)
    world.settle()

    status = world.fleet["status"]
    assert (status["replicas"], status["engines"]) == (0, "0/0")
    assert status["conditions"][0]["reason"] == "ScaledToZero"
    assert world.engines == []
