"""Whole passes against an API server in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from specfleet_operator.aggregators import Aggregators
from specfleet_operator.api import Conflict, Precondition, SigningKeys
from specfleet_operator.certificates import new_key
from specfleet_operator.events import Events
from specfleet_operator.kinds import CHILDREN, EVENT, FLEET, POD, SECRET, kind_of
from specfleet_operator.naming import FLEET_LABEL
from specfleet_operator.observed import Images, Object, ObjectKey, Observed, OperatorFacts
from specfleet_operator.planning import Plan
from specfleet_operator.reconciling import World, carry_out, reconcile, tell_failure
from specfleet_operator.store import FleetKey, Store
from specfleet_operator.testing import FakeCluster
from specfleet_operator.tests.clocks import Clock
from specfleet_operator.tests.objects import config, fleet
from specfleet_operator.tokens import Keys, Tokens

KEY = FleetKey("ns", "f")
STATEFUL_SET = kind_of("apps/v1", "StatefulSet")
CONFIG_MAP = kind_of("v1", "ConfigMap")


class Scene:
    """One fleet, one operator; `see` is what its informers do."""

    def __init__(self) -> None:
        self.cluster = FakeCluster()
        self.clock = Clock(1_800_000_000.0)
        self.world = self.new_world()

    def new_world(self) -> World:
        """Return what an operator knows that has just started."""
        tokens = Tokens(self.cluster, namespace="op", service_account="op", clock=self.clock)
        keys = Keys(self.cluster, lambda: None)
        keys.current = SigningKeys("https://issuer", '{"keys": []}')
        return World(
            cluster=self.cluster,
            fleets=Store(),
            children=Store(),
            aggregators=Aggregators(
                tokens, mark=lambda _: None, clock=self.clock, wall_clock=self.clock
            ),
            keys=keys,
            events=Events(self.cluster, instance="op", clock=self.clock, wall_clock=self.clock),
            facts=lambda: OperatorFacts(
                version="1",
                images=Images(agent="agent:1", aggregator="aggregator:1", default_engine=""),
                namespace="op",
                service_account="op",
            ),
            wall_clock=self.clock,
            make_key=new_key,
        )

    async def create(self, **wishes: Any) -> Object:
        return await self.cluster.create(fleet("f", namespace="ns", **wishes))

    async def see(self) -> None:
        """Bring the operator's knowledge up to date."""
        listing = await self.cluster.list(FLEET, None)
        version = listing.resource_version
        self.world.fleets.replace(FLEET, None, listing.items, resource_version=version)
        for kind in CHILDREN:
            listing = await self.cluster.list(kind, None, selector=FLEET_LABEL)
            version = listing.resource_version
            self.world.children.replace(kind, None, listing.items, resource_version=version)

    async def settle(self) -> None:
        """Make passes until one changes nothing."""
        for _ in range(10):
            await self.see()
            before = self.cluster.version
            await reconcile(KEY, self.world)
            if self.cluster.version == before:
                return
        raise AssertionError(f"still writing: {self.cluster.writes[-5:]}")

    async def child(self, kind: Any, name: str) -> Object:
        found = await self.cluster.get(kind, "ns", name)
        assert found is not None
        return found


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    scene = Scene()
    yield scene
    await scene.world.aggregators.stop()


async def test_passes_come_to_rest_with_children_and_a_status(scene: Scene) -> None:
    await scene.create(replicas=2)

    await scene.settle()

    engines = await scene.child(STATEFUL_SET, "f-main")
    assert engines["spec"]["replicas"] == 2
    found = await scene.child(FLEET, "f")
    assert found["status"]["observedGeneration"] == 1


async def test_a_pass_over_a_fleet_that_is_gone_does_nothing(scene: Scene) -> None:
    assert await reconcile(KEY, scene.world) is None
    assert scene.cluster.writes == []


async def test_a_fleet_that_is_being_deleted_is_left_alone(scene: Scene) -> None:
    item = await scene.create()
    going = dict(item) | {
        "metadata": dict(item["metadata"]) | {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    }
    scene.world.fleets.put(going)
    before = len(scene.cluster.writes)

    await reconcile(KEY, scene.world)

    assert len(scene.cluster.writes) == before


async def test_another_operator_that_knows_only_the_cluster_changes_nothing(scene: Scene) -> None:
    await scene.create()
    await scene.settle()
    before = len(scene.cluster.writes)
    await scene.world.aggregators.stop()

    scene.world = scene.new_world()
    await scene.settle()

    assert scene.cluster.writes[before:] == []


async def test_keys_are_never_replaced_on_the_word_of_a_cache(scene: Scene) -> None:
    await scene.create()
    await scene.settle()
    before = [await scene.child(SECRET, name) for name in ("f-ca", "f-tls")]
    await scene.world.aggregators.stop()
    scene.world = scene.new_world()
    listing = await scene.cluster.list(FLEET, None)
    for item in listing.items:
        scene.world.fleets.put(item)

    await reconcile(KEY, scene.world)  # it has seen no child at all

    assert [await scene.child(SECRET, name) for name in ("f-ca", "f-tls")] == before


async def test_certificates_are_replaced_in_time(scene: Scene) -> None:
    await scene.create()
    await scene.settle()
    before = await scene.child(SECRET, "f-tls")

    scene.clock.now += 61 * 86_400.0
    await scene.settle()

    after = await scene.child(SECRET, "f-tls")
    assert after["data"] != before["data"]


async def test_what_is_not_the_fleets_is_left_alone_and_named(scene: Scene) -> None:
    theirs = await scene.cluster.create(config("f-settings", namespace="ns", x="theirs"))
    await scene.create()

    await scene.settle()

    assert await scene.cluster.get(CONFIG_MAP, "ns", "f-settings") == theirs
    (refusal,) = scene.world.refused[KEY]
    assert refusal.key == ObjectKey("v1", "ConfigMap", "f-settings")
    assert "belongs to somebody else" in refusal.message


async def test_what_is_refused_stops_nothing_else_and_reaches_the_status(scene: Scene) -> None:
    key = ObjectKey("apps/v1", "StatefulSet", "f-main")
    scene.cluster.refusals[key] = "exceeded quota"
    await scene.create()

    await scene.settle()

    assert await scene.cluster.get(STATEFUL_SET, "ns", "f-aggregator") is not None
    found = await scene.child(FLEET, "f")
    assert "exceeded quota" in str(found["status"]["conditions"])


async def test_in_a_namespace_that_is_being_deleted_a_fleet_gets_nothing_and_no_word(
    scene: Scene,
) -> None:
    await scene.create()
    scene.cluster.ending = frozenset({"ns"})
    await scene.see()

    again = await reconcile(KEY, scene.world)

    assert again is None
    assert [write.verb for write in scene.cluster.writes if write.verb != "create"] == ["apply"]
    assert "status" not in await scene.child(FLEET, "f")


async def test_a_decision_on_an_old_state_is_a_conflict_and_right_the_next_time(
    scene: Scene,
) -> None:
    await scene.create()
    await scene.settle()
    theirs = {"spec": {"replicas": 9}}
    await scene.cluster.merge(STATEFUL_SET, "ns", "f-main", theirs)
    await scene.cluster.merge(FLEET, "ns", "f", {"spec": {"replicas": 2}})
    listing = await scene.cluster.list(FLEET, None)
    scene.world.fleets.put(listing.items[0])  # the StatefulSet is still seen as it was

    with pytest.raises(Conflict):
        await reconcile(KEY, scene.world)
    await reconcile(KEY, scene.world)

    engines = await scene.child(STATEFUL_SET, "f-main")
    assert engines["spec"]["replicas"] == 2


async def test_a_cohort_that_is_removed_takes_its_engines_with_it(scene: Scene) -> None:
    await scene.create()
    cohort = {"spec": {"cohorts": [{"name": "control", "replicas": 1, "serve": "Stock"}]}}
    await scene.cluster.merge(FLEET, "ns", "f", cohort)
    await scene.settle()
    assert await scene.cluster.get(STATEFUL_SET, "ns", "f-control") is not None

    await scene.cluster.merge(FLEET, "ns", "f", {"spec": {"cohorts": None}})
    await scene.settle()

    assert await scene.cluster.get(STATEFUL_SET, "ns", "f-control") is None


async def test_a_fleet_that_is_deleted_takes_everything_with_it(scene: Scene) -> None:
    item = await scene.create()
    await scene.settle()

    await scene.cluster.delete(FLEET, "ns", "f", Precondition(item["metadata"]["uid"]))

    for kind in CHILDREN:
        assert (await scene.cluster.list(kind, "ns")).items == ()


async def test_a_failure_that_nobody_foresaw_is_told(scene: Scene) -> None:
    item = await scene.create()
    scene.world.fleets.put(item)

    await tell_failure(KEY, RuntimeError("a bug"), scene.world)

    (event,) = (await scene.cluster.list(EVENT, "ns")).items
    assert (event["reason"], event["note"]) == ("ReconcileFailed", "RuntimeError: a bug")


async def test_an_event_that_is_refused_changes_nothing_else(scene: Scene) -> None:
    scene.cluster.refused_kinds = frozenset({EVENT.name})
    await scene.create()

    await scene.settle()

    found = await scene.child(FLEET, "f")
    assert found["status"]["observedGeneration"] == 1
    assert scene.world.refused[KEY] == ()


async def test_a_pod_is_replaced_only_if_it_is_as_it_was_seen(scene: Scene) -> None:
    await scene.create()
    await scene.settle()
    pod = await scene.cluster.create(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "f-main-0", "namespace": "ns", "labels": {FLEET_LABEL: "f"}},
        }
    )
    await scene.see()
    await scene.cluster.merge(POD, "ns", "f-main-0", {"metadata": {"labels": {"new": "state"}}})
    observed = Observed(fleet=await scene.child(FLEET, "f"))
    todo = Plan(
        apply=(),
        delete=(),
        annotate_pods={},
        delete_pods=("f-main-0",),
        status=observed.fleet["status"],
        events=(),
    )

    with pytest.raises(Conflict):
        await carry_out(todo, observed, KEY, scene.world)

    found = await scene.child(POD, "f-main-0")
    assert found["metadata"]["uid"] == pod["metadata"]["uid"]
