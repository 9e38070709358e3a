"""In whatever order an operator learns things, and wherever it breaks off, it ends the same."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from specfleet_operator.api import Conflict, Precondition
from specfleet_operator.kinds import CHILDREN, FLEET, SECRET, Kind, kind_of
from specfleet_operator.naming import FLEET_LABEL
from specfleet_operator.pacing import LAST_PAUSE_SECONDS
from specfleet_operator.reconciling import reconcile
from specfleet_operator.testing import BrokenOff
from specfleet_operator.tests.scenes import KEY, Scene

EDITS: tuple[dict[str, Any], ...] = (
    {"replicas": 0},
    {"replicas": 3},
    {"aggregation": {"localSteps": 7}},
    {"cohorts": [{"name": "control", "replicas": 1, "serve": "Stock"}]},
    {"cohorts": None},
)

edits = st.builds(lambda number: ("edit", number), st.integers(0, len(EDITS) - 1))
glances = st.builds(lambda number: ("see", number), st.integers(-1, len(CHILDREN) - 1))
strangers = st.builds(lambda number: ("delete", number), st.integers(0, 20))
others = st.sampled_from([("pass", 0), ("restart", 0), ("break off", 3), ("break off", 8)])
steps = st.lists(st.one_of(edits, glances, strangers, others), max_size=25)


@settings(max_examples=60)
@given(steps)
def test_every_order_of_events_ends_in_the_same_state(steps: list[tuple[str, int]]) -> None:
    asyncio.run(_check(steps))


async def _check(steps: list[tuple[str, int]]) -> None:
    scene, straight = Scene(), Scene()
    await scene.create()
    for step, number in steps:
        await _take(step, number, scene)
    scene.clock.now += LAST_PAUSE_SECONDS  # nothing is put off any more
    await scene.settle()
    await straight.create()
    for step, number in steps:
        if step == "edit":
            await _edit(straight, number)
    await straight.settle()

    assert await _state(scene) == await _state(straight)

    await scene.world.aggregators.stop()
    await straight.world.aggregators.stop()


async def _take(step: str, number: int, scene: Scene) -> None:
    match step:
        case "edit":
            await _edit(scene, number)
        case "see":
            await _see(scene, FLEET if number < 0 else CHILDREN[number])
        case "delete":
            await _delete_some_child(scene, number)
        case "restart":
            await scene.world.aggregators.stop()
            scene.world = scene.new_world()
        case "pass":
            await _pass(scene)
        case "break off":
            scene.cluster.writes_left = number
            await _pass(scene)
            scene.cluster.writes_left = None


async def _pass(scene: Scene) -> None:
    try:
        await reconcile(KEY, scene.world)
    except (Conflict, BrokenOff):
        return


async def _edit(scene: Scene, number: int) -> None:
    await scene.cluster.merge(FLEET, "ns", "f", {"spec": EDITS[number]})


async def _see(scene: Scene, kind: Kind) -> None:
    store = scene.world.fleets if kind == FLEET else scene.world.children
    listing = await scene.cluster.list(kind, None, selector="" if kind == FLEET else FLEET_LABEL)
    store.replace(kind, None, listing.items, resource_version=listing.resource_version)


async def _delete_some_child(scene: Scene, number: int) -> None:
    found = [item for kind in CHILDREN for item in (await scene.cluster.list(kind, "ns")).items]
    if found:
        item = found[number % len(found)]
        kind, metadata = kind_of(item["apiVersion"], item["kind"]), item["metadata"]
        await scene.cluster.delete(kind, "ns", metadata["name"], Precondition(metadata["uid"]))


async def _state(scene: Scene) -> dict[str, Any]:
    """Return everything but what is random or counts how often something happened."""
    state: dict[str, Any] = {}
    for kind in CHILDREN:
        for item in (await scene.cluster.list(kind, "ns")).items:
            body = {k: v for k, v in item.items() if k not in ("metadata", "status")}
            secret = kind == SECRET or item["metadata"]["name"] == "f-trust"
            state[f"{kind.name} {item['metadata']['name']}"] = None if secret else body
    fleet = await scene.child(FLEET, "f")
    state["conditions"] = {
        one["type"]: (one["status"], one["reason"]) for one in fleet["status"]["conditions"]
    }
    return state
