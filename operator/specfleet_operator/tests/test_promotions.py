"""Promotions as objects of a cluster: the API server in memory and the real one do the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from e2e.cluster.control_plane import ControlPlane
from specfleet_common.wire.messages import PromotionState
from specfleet_operator.api import Cluster, Conflict, as_of
from specfleet_operator.connecting import connection_by_kubeconfig
from specfleet_operator.kinds import CHILDREN, EVENT, FLEET, PROMOTION, kind_of
from specfleet_operator.naming import FLEET_LABEL
from specfleet_operator.observed import Object
from specfleet_operator.pacing import LAST_PAUSE_SECONDS
from specfleet_operator.planning import Plan, plan
from specfleet_operator.reconciling import World, carry_out, gather
from specfleet_operator.store import FleetKey
from specfleet_operator.testing import FakeCluster
from specfleet_operator.tests.api_servers import cluster_of, new_namespace
from specfleet_operator.tests.building import LINEAGE, ended, promotion, state, view
from specfleet_operator.tests.clocks import Clock
from specfleet_operator.tests.objects import fleet
from specfleet_operator.tests.passes import new_world
from specfleet_operator.tests.test_rendering_promotions import effect

CONFIG_MAP = kind_of("v1", "ConfigMap")
NAME = "f-12-0000000cdddd"
MOST_PASSES = 10


@dataclass
class Scene:
    """One fleet, and an operator whose aggregator says what the test says."""

    cluster: Cluster
    namespace: str
    world: World
    clock: Clock
    promotions: tuple[PromotionState, ...] = ()

    async def say(self, *promotions: PromotionState) -> None:
        """Have the aggregator say this from now on, and the operator come to rest."""
        self.promotions = promotions
        await self.settle()

    async def settle(self) -> None:
        """Make passes until one changes nothing."""
        for _ in range(MOST_PASSES):
            self.clock.now += LAST_PAUSE_SECONDS  # nothing is put off
            try:
                todo = await self.pass_()
            except Conflict:
                continue
            if not any((todo.apply, todo.statuses, todo.delete, todo.events)):
                return
        raise AssertionError(f"still busy: {todo}")

    async def pass_(self) -> Plan:
        """Look, plan and act once."""
        for kind in (FLEET, *CHILDREN):
            store = self.world.fleets if kind == FLEET else self.world.children
            selector = "" if kind == FLEET else FLEET_LABEL
            listing = await self.cluster.list(kind, self.namespace, selector=selector)
            version = listing.resource_version
            store.replace(kind, self.namespace, listing.items, resource_version=version)
        key = FleetKey(self.namespace, "f")
        observed = await gather(key, self.world)
        assert observed is not None
        says = state(fleet="f", lineage=LINEAGE, promotions=self.promotions)
        observed = replace(observed, aggregator=view(says))
        todo = plan(observed, self.world.facts(), self.world.wall_clock())
        await carry_out(todo, observed, key, self.world)
        return todo

    async def edit(self, **promotion: Any) -> None:
        """Change the part of the fleet's spec that is about promotions."""
        change = {"spec": {"promotion": promotion}}
        await self.cluster.merge(FLEET, self.namespace, "f", change)
        await self.settle()

    async def decide(self, decision: str | None) -> None:
        """Decide on the promotion, as a user does."""
        change = {"spec": {"decision": decision}}
        await self.cluster.merge(PROMOTION, self.namespace, NAME, change)

    async def decisions(self) -> dict[str, str]:
        """Return what the aggregator is told."""
        found = await self.cluster.get(CONFIG_MAP, self.namespace, "f-settings")
        assert found is not None
        return dict(json.loads(found["data"]["settings.json"]).get("decisions", {}))

    async def shown(self) -> dict[str, Object]:
        """Return the promotions by name."""
        listing = await self.cluster.list(PROMOTION, self.namespace)
        return {item["metadata"]["name"]: item for item in listing.items}


@pytest.fixture(params=["memory", "real"])
async def scene(request: pytest.FixtureRequest) -> AsyncIterator[Scene]:
    clock = Clock(1_800_000_000.0)
    if request.param == "memory":
        cluster: Cluster = FakeCluster()
        scene = Scene(cluster, "ns", new_world(cluster, clock), clock)
        async with started(scene):
            yield scene
        return
    plane: ControlPlane = request.getfixturevalue("plane")
    async with connection_by_kubeconfig(plane.kubeconfig, "test") as connection:
        cluster = cluster_of(connection)
        scene = Scene(cluster, new_namespace(plane), new_world(cluster, clock), clock)
        async with started(scene):
            yield scene


@asynccontextmanager
async def started(scene: Scene) -> AsyncIterator[Scene]:
    """Give a scene with a fleet at rest; its tasks end with it."""
    await scene.cluster.create(fleet("f", namespace=scene.namespace))
    await scene.settle()
    yield scene
    await scene.world.aggregators.stop()


def words(items: Iterable[Object]) -> list[tuple[str, str]]:
    return [(one["status"]["phase"], one["status"].get("outcome", "")) for one in items]


async def test_what_the_fleet_decides_is_shown_and_followed(scene: Scene) -> None:
    await scene.say(promotion(12, "Pending"), ended(7))
    first = await scene.shown()
    await scene.say(promotion(12, "Canary", effects=(effect(),), breaches=("slow",)), ended(7))
    second = await scene.shown()

    assert words(first.values()) == [("Pending", ""), ("Done", "Rejected")]
    assert words(second.values()) == [("Canary", ""), ("Done", "Rejected")]
    assert second[NAME]["status"]["effects"][0]["gainPercent"] == "4.21"
    assert second[NAME]["metadata"]["uid"] == first[NAME]["metadata"]["uid"]
    assert second[NAME]["metadata"]["generation"] == 1


async def test_a_users_decision_stays_whatever_is_applied_and_reaches_the_aggregator(
    scene: Scene,
) -> None:
    await scene.say(promotion(12, "Canary", waits_for_approval=True))
    await scene.decide("Approve")
    unstamped = {"metadata": {"annotations": None}}
    await scene.cluster.merge(PROMOTION, scene.namespace, NAME, unstamped)

    await scene.settle()

    shown = (await scene.shown())[NAME]
    assert "specfleet.dev/applied" in shown["metadata"]["annotations"]
    assert shown["spec"]["decision"] == "Approve"
    assert shown["status"]["observedGeneration"] == shown["metadata"]["generation"] == 2
    assert await scene.decisions() == {"12-0000000cdddd": "Approve"}


async def test_a_decision_in_the_middle_of_a_pass_is_no_conflict_for_the_status(
    scene: Scene,
) -> None:
    await scene.say(promotion(12))
    await scene.decide("Approve")
    seen = scene.world.children.get(PROMOTION, scene.namespace, NAME)
    assert seen is not None and "decision" not in seen["spec"]

    scene.promotions = (promotion(12, "Canary"),)
    await scene.settle()

    shown = (await scene.shown())[NAME]
    assert (shown["spec"]["decision"], shown["status"]["phase"]) == ("Approve", "Canary")


async def test_a_decision_counts_until_its_promotion_has_ended(scene: Scene) -> None:
    await scene.say(promotion(12))
    await scene.decide("Abort")
    await scene.settle()
    told = await scene.decisions()
    await scene.say(ended(12, "Aborted"))

    assert told == {"12-0000000cdddd": "Abort"}
    assert await scene.decisions() == {}
    assert (await scene.shown())[NAME]["spec"]["decision"] == "Abort"


async def test_an_object_that_a_user_deleted_is_there_again_with_what_it_showed(
    scene: Scene,
) -> None:
    await scene.say(promotion(12, "Canary"), ended(7))
    before = await scene.shown()
    for item in before.values():
        name = item["metadata"]["name"]
        await scene.cluster.delete(PROMOTION, scene.namespace, name, as_of(item))

    await scene.settle()

    after = await scene.shown()
    assert [item["spec"] for item in after.values()] == [item["spec"] for item in before.values()]
    assert words(after.values()) == words(before.values())


async def test_no_more_are_shown_than_the_history_has(scene: Scene) -> None:
    everything = (promotion(12), ended(9), ended(8), ended(7))
    await scene.say(*everything)

    await scene.edit(historyLimit=2)

    assert {item["spec"]["version"] for item in (await scene.shown()).values()} == {12, 9}


async def test_an_object_that_somebody_else_made_is_left_alone(scene: Scene) -> None:
    theirs = {
        "apiVersion": PROMOTION.api_version,
        "kind": PROMOTION.name,
        "metadata": {"name": NAME, "namespace": scene.namespace, "labels": {FLEET_LABEL: "f"}},
        "spec": {"fleet": "f", "lineage": "0" * 16, "version": 1, "digest": "0" * 64},
    }
    made = await scene.cluster.create(theirs)

    scene.promotions = (promotion(12), ended(7))
    for _ in range(3):
        await scene.pass_()

    shown = await scene.shown()
    assert shown[NAME] == made
    assert words([shown["f-7-00000007dddd"]]) == [("Done", "Rejected")]
    found = await scene.cluster.get(FLEET, scene.namespace, "f")
    assert found is not None and "belongs to somebody else" not in json.dumps(found["status"])
    events = (await scene.cluster.list(EVENT, scene.namespace)).items
    assert "PromotionRefused" in {event["reason"] for event in events}


async def test_deleting_the_fleet_leaves_no_promotion() -> None:
    cluster, clock = FakeCluster(), Clock(1_800_000_000.0)
    scene = Scene(cluster, "ns", new_world(cluster, clock), clock)
    async with started(scene):
        await scene.say(promotion(12), ended(7))
        found = await cluster.get(FLEET, "ns", "f")
        assert found is not None

        await cluster.delete(FLEET, "ns", "f", as_of(found))

        assert await scene.shown() == {}


async def test_the_operator_owns_all_of_an_object_but_the_decision(
    plane: ControlPlane,
) -> None:
    async with connection_by_kubeconfig(plane.kubeconfig, "test") as connection:
        cluster, clock = cluster_of(connection), Clock(1_800_000_000.0)
        scene = Scene(cluster, new_namespace(plane), new_world(cluster, clock), clock)
        async with started(scene):
            await scene.say(promotion(12))
            patch = json.dumps({"spec": {"decision": "Approve"}})
            place = ("--namespace", scene.namespace)
            await asyncio.to_thread(
                plane.client.kubectl,
                *("patch", "dpromo", NAME, "--type=merge", "-p", patch, *place),
            )
            await scene.settle()

            text = plane.client.kubectl(
                "get", "dpromo", NAME, "-o", "json", "--show-managed-fields", *place
            )

    item = json.loads(text)
    owned = {
        (one["manager"], one.get("subresource", "")): one["fieldsV1"]
        for one in item["metadata"]["managedFields"]
    }
    ours = owned["specfleet-operator", ""]["f:spec"]
    assert set(ours) == {"f:fleet", "f:lineage", "f:version", "f:digest"}
    assert set(owned["specfleet-operator", "status"]) == {"f:status"}
    assert item["spec"]["decision"] == "Approve"
