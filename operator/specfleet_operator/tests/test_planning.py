"""Laws of planning: where a fleet ends up, and what happens to its engines on the way."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specfleet_common.api.status import FleetStatus
from specfleet_operator.naming import COHORT_LABEL, FLEET_LABEL, REVISION_LABEL
from specfleet_operator.observed import key_of
from specfleet_operator.planning import plan
from specfleet_operator.tests.building import FACTS, NOW
from specfleet_operator.tests.world import World, is_ready

FEW = settings(max_examples=40, deadline=None)
CONTROL = {"name": "control", "serve": "Stock", "replicas": 1}
PUSH = {"name": "push", "serve": "Local", "train": True, "replicas": 2}

SPECS = st.fixed_dictionaries(
    {},
    optional={
        "replicas": st.integers(0, 3),
        "cohorts": st.lists(st.sampled_from([CONTROL, PUSH]), unique_by=lambda c: str(c["name"])),
        "train": st.booleans(),
        "engine__image": st.sampled_from(["vllm:a", "vllm:b", "broken"]),
        "engine__args": st.sampled_from([[], ["--max-num-seqs", "8"]]),
        "engine__env": st.sampled_from([[], [{"name": "A", "value": "$(B)"}]]),
        "engine__resources": st.sampled_from(
            [{}, {"limits": {"cpu": "1500m", "memory": "2048Mi", "nvidia.com/gpu": 2}}]
        ),
        "engine__drainSeconds": st.sampled_from([0, 60]),
        "trainer__learningRate": st.sampled_from(["0.001", "0.0002"]),
        "trainer__threads": st.integers(1, 2),
        "aggregation__localSteps": st.integers(1, 500),
        "networkPolicy__ingressFrom": st.sampled_from([[], [{"podSelector": {}}]]),
    },
)


def works(spec: dict[str, Any]) -> bool:
    """Say whether engines of this spec start; if not, what ran before goes on running."""
    return bool(spec.get("engine__image") != "broken")


def edit(spec: dict[str, Any]) -> Callable[[World], None]:
    return lambda world: world.edit(**spec)


def kill_one(world: World) -> None:
    if world.engines:
        world.kill(world.engines[0]["metadata"]["name"])


def lose_objects(kind: str) -> Callable[[World], None]:
    """Have someone delete what the operator made."""

    def lose(world: World) -> None:
        world.objects = {key: item for key, item in world.objects.items() if key.kind != kind}

    return lose


def upgrade(name: str) -> Callable[[World], None]:
    return lambda world: world.upgrade(name)


EVENTS = st.one_of(
    SPECS.map(edit),
    st.just(kill_one),
    st.sampled_from(["Service", "ConfigMap", "NetworkPolicy"]).map(lose_objects),
    st.sampled_from(["2", "3"]).map(upgrade),
    st.just(World.reconcile),
    st.just(World.step),
)


def shape(world: World) -> dict[str, Any]:
    """Return what has to be the same whatever happened before: wishes, and what runs."""
    stays = {"Service", "NetworkPolicy", "ConfigMap", "PodDisruptionBudget", "ServiceAccount"}
    found: dict[str, Any] = {
        str(key): item.get("spec")
        for key, item in world.objects.items()
        if key.kind in stays and key.kind != "ConfigMap"
    }
    for key, item in world.objects.items():
        labels = item["metadata"]["labels"]
        if key.kind == "StatefulSet":
            template = item["spec"]["template"]["metadata"]["labels"]
            found[str(key)] = (item["spec"]["replicas"], template[REVISION_LABEL])
        if key.kind == "Pod":
            found[str(key)] = (is_ready(item), labels[REVISION_LABEL])
    return found


@FEW
@given(SPECS)
def test_a_carried_out_plan_leaves_nothing_to_do(spec: dict[str, Any]) -> None:
    world = World(broken_images={"broken"})
    world.edit(**spec)

    world.settle()

    todo = world.reconcile()
    assert (todo.apply, todo.delete, todo.delete_pods, todo.annotate_pods) == ((), (), (), {})
    assert todo.events == ()


@FEW
@given(st.lists(EVENTS, max_size=12), SPECS.filter(works))
def test_any_order_of_events_ends_in_the_same_state(
    events: list[Callable[[World], object]], spec: dict[str, Any]
) -> None:
    straight, winding = World(broken_images={"broken"}), World(broken_images={"broken"})
    straight.edit(**spec)
    straight.settle()

    for event in events:
        event(winding)
    winding.edit(**spec)
    winding.settle()

    assert shape(winding) == shape(straight)


@FEW
@given(st.lists(EVENTS, max_size=12))
def test_never_is_more_than_one_engine_replaced_and_never_while_another_is_missing(
    events: list[Callable[[World], object]],
) -> None:
    world = World(broken_images={"broken"})
    world.settle()

    for event in events:
        before = {pod["metadata"]["name"]: is_ready(pod) for pod in world.engines}
        event(world)
        if event is World.reconcile:
            _assert_careful(world, before)


def _assert_careful(world: World, ready: dict[str, bool]) -> None:
    gone = world.plans[-1].delete_pods
    assert len(gone) <= 1
    for name in gone:
        others = [is_well for other, is_well in ready.items() if other != name]
        assert not ready[name] or all(others)


@FEW
@given(SPECS)
def test_everything_rendered_is_json_and_belongs_to_the_fleet(spec: dict[str, Any]) -> None:
    world = World()
    world.edit(**spec)

    todo = world.reconcile()

    assert len({key_of(item) for item in todo.apply}) == len(todo.apply)
    for item in todo.apply:
        assert json.loads(json.dumps(item)) == item
        [owner] = item["metadata"]["ownerReferences"]
        assert (owner["uid"], owner["controller"]) == ("uid-of-demo", True)
        assert item["metadata"]["labels"][FLEET_LABEL] == "demo"


@FEW
@given(st.lists(EVENTS, max_size=8))
def test_every_status_fits_its_schema(events: list[Callable[[World], object]]) -> None:
    world = World()

    for event in events:
        event(world)
        todo = world.reconcile()

        FleetStatus.model_validate_json(json.dumps(todo.status))


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

    lose_objects("ControllerRevision")(world)
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
    lose_objects("StatefulSet")(world)

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
