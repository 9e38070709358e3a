"""Laws of planning: where a fleet ends up, and what happens to its engines on the way."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from specfleet_common.api.status import FleetStatus
from specfleet_operator.naming import FLEET_LABEL, REVISION_LABEL
from specfleet_operator.observed import key_of
from specfleet_operator.tests.building import CONTROL, PUSH
from specfleet_operator.tests.world import World, is_ready

FEW = settings(max_examples=40, deadline=None)

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


def lose(kind: str) -> Callable[[World], None]:
    return lambda world: world.lose(kind)


def upgrade(name: str) -> Callable[[World], None]:
    return lambda world: world.upgrade(name)


EVENTS = st.one_of(
    SPECS.map(edit),
    st.just(kill_one),
    st.sampled_from(["Service", "ConfigMap", "NetworkPolicy"]).map(lose),
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
