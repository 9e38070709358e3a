"""Whole passes against an API server in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from specfleet_operator.api import Conflict, Precondition, as_of
from specfleet_operator.kinds import CHILDREN, EVENT, FLEET, POD, SECRET, kind_of
from specfleet_operator.naming import COHORT_LABEL, COMPONENT_LABEL, FLEET_LABEL
from specfleet_operator.observed import Object, ObjectKey, Observed
from specfleet_operator.planning import Plan
from specfleet_operator.reconciling import World, carry_out, reconcile, tell_failure
from specfleet_operator.store import FleetKey
from specfleet_operator.testing import FakeCluster
from specfleet_operator.tests.clocks import Clock
from specfleet_operator.tests.objects import config, fleet
from specfleet_operator.tests.passes import new_world

KEY = FleetKey("ns", "f")
STATEFUL_SET = kind_of("apps/v1", "StatefulSet")
CONFIG_MAP = kind_of("v1", "ConfigMap")


def pod_of(stateful_set: Object, name: str, labels: dict[str, str]) -> dict[str, Any]:
    """Return a pod that a StatefulSet made, which is not ready."""
    owner = {"kind": "StatefulSet", "name": stateful_set["metadata"]["name"], "controller": True}
    metadata = {
        "name": name,
        "namespace": "ns",
        "labels": labels,
        "ownerReferences": [owner | {"uid": stateful_set["metadata"]["uid"]}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}


class Scene:
    """One fleet, one operator; `see` is what its informers do."""

    def __init__(self) -> None:
        self.cluster = FakeCluster()
        self.clock = Clock(1_800_000_000.0)
        self.world = self.new_world()

    def new_world(self) -> World:
        """Return what an operator knows that has just started."""
        return new_world(self.cluster, self.clock)

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


async def test_what_is_refused_with_ever_new_words_is_not_tried_ever_again(scene: Scene) -> None:
    key = ObjectKey("apps/v1", "StatefulSet", "f-main")
    await scene.create()

    for number in range(50):
        scene.cluster.refusals[key] = f"denied, request {number}"
        await scene.see()
        again = await reconcile(KEY, scene.world)
        scene.clock.now += 0.02

    tries = [write for write in scene.cluster.writes if write.key == key]
    statuses = [write for write in scene.cluster.writes if write.verb == "apply_status"]
    assert len(tries) <= 3
    assert len(statuses) <= 5
    assert again is not None and again > 0.0


@pytest.mark.parametrize("verb", ["delete", "merge"])
async def test_a_pod_that_may_not_be_changed_is_told_and_left_for_a_while(
    scene: Scene, verb: str
) -> None:
    await scene.create()
    await scene.settle()
    component, name = ("engine", "f-main-0") if verb == "delete" else ("aggregator",) * 2
    labels = {FLEET_LABEL: "f", COHORT_LABEL: "main", COMPONENT_LABEL: component}
    owner = "f-main" if verb == "delete" else "f-aggregator"
    await scene.cluster.create(pod_of(await scene.child(STATEFUL_SET, owner), f"{name}", labels))
    stateful_set = await scene.child(STATEFUL_SET, owner)
    seen = {"status": {"observedGeneration": stateful_set["metadata"]["generation"]}}
    await scene.cluster.merge(STATEFUL_SET, "ns", owner, seen)
    scene.cluster.refusals[ObjectKey("v1", "Pod", name)] = "the webhook says no"
    before = len(scene.cluster.writes)

    for _ in range(50):
        await scene.see()
        await reconcile(KEY, scene.world)
        scene.clock.now += 0.02

    verbs = [write.verb for write in scene.cluster.writes[before:]]
    assert 1 <= verbs.count(verb) <= 3
    assert verbs.count("apply_status") <= 3
    found = await scene.child(FLEET, "f")
    assert "the webhook says no" in str(found["status"]["conditions"])


async def test_what_was_refused_is_tried_again_at_once_when_the_spec_changes(scene: Scene) -> None:
    key = ObjectKey("apps/v1", "StatefulSet", "f-main")
    scene.cluster.refusals[key] = "exceeded quota"
    await scene.create()
    await scene.settle()

    del scene.cluster.refusals[key]
    await scene.cluster.merge(FLEET, "ns", "f", {"spec": {"replicas": 2}})
    await scene.settle()

    engines = await scene.child(STATEFUL_SET, "f-main")
    assert engines["spec"]["replicas"] == 2
    assert scene.world.refused[KEY] == ()


async def test_what_another_program_undoes_again_and_again_is_not_fought_over(scene: Scene) -> None:
    await scene.create()
    await scene.settle()
    before = len(scene.cluster.writes)

    for number in range(50):
        scene.clock.now += 0.1
        theirs = {"spec": {"replicas": 9, "minReadySeconds": number}}
        await scene.cluster.merge(STATEFUL_SET, "ns", "f-main", theirs)
        await scene.see()
        await reconcile(KEY, scene.world)

    ours = [write for write in scene.cluster.writes[before:] if write.verb == "apply"]
    assert 1 <= len(ours) <= 6


async def test_an_authority_that_cannot_be_kept_is_not_made_again_and_again(scene: Scene) -> None:
    scene.cluster.refusals[ObjectKey("v1", "Secret", "f-ca")] = "exceeded quota: secrets"
    await scene.create()

    await scene.settle()

    assert await scene.cluster.get(CONFIG_MAP, "ns", "f-trust") is None
    found = await scene.child(FLEET, "f")
    assert "exceeded quota" in str(found["status"]["conditions"])


async def test_keys_of_somebody_elses_are_not_trusted(scene: Scene) -> None:
    await scene.create()
    await scene.settle()
    theirs = await scene.child(SECRET, "f-ca")
    await scene.cluster.merge(SECRET, "ns", "f-ca", {"metadata": {"ownerReferences": None}})

    await scene.settle()

    trusted = await scene.child(CONFIG_MAP, "f-trust")
    assert await scene.child(SECRET, "f-ca") != theirs
    assert [refusal.key.name for refusal in scene.world.refused[KEY]] == ["f-ca"]
    assert trusted["data"]["ca.crt"]


async def test_a_pod_that_is_gone_before_it_is_annotated_is_no_refusal(scene: Scene) -> None:
    await scene.create()
    await scene.settle()
    metadata = {"name": "f-aggregator-0", "namespace": "ns", "labels": {FLEET_LABEL: "f"}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    made = await scene.cluster.create(pod)
    await scene.see()
    await scene.cluster.delete(POD, "ns", "f-aggregator-0", as_of(made))
    observed = Observed(fleet=await scene.child(FLEET, "f"))
    todo = Plan(
        apply=(),
        statuses=(),
        delete=(),
        annotate_pods={"f-aggregator-0": {"note": "1"}},
        delete_pods=(),
        status=observed.fleet["status"],
        events=(),
    )

    await carry_out(todo, observed, KEY, scene.world)

    assert scene.world.refused[KEY] == ()


async def test_a_fleet_that_is_made_again_waits_for_what_the_one_before_it_had(
    scene: Scene,
) -> None:
    first = await scene.create()
    await scene.settle()
    left = await scene.child(STATEFUL_SET, "f-main")
    await scene.cluster.delete(FLEET, "ns", "f", as_of(await scene.child(FLEET, "f")))
    collected_late = {name: value for name, value in left.items() if name != "status"}
    left = await scene.cluster.create(collected_late)
    second = await scene.create()
    await scene.see()

    with pytest.raises(Conflict):
        await reconcile(KEY, scene.world)
    meanwhile = await scene.child(FLEET, "f")
    await scene.cluster.delete(STATEFUL_SET, "ns", "f-main", as_of(left))
    await scene.settle()

    assert "Refused" not in str(meanwhile["status"]["conditions"])
    engines = await scene.child(STATEFUL_SET, "f-main")
    assert engines["metadata"]["ownerReferences"][0]["uid"] == second["metadata"]["uid"]
    assert second["metadata"]["uid"] != first["metadata"]["uid"]


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
        statuses=(),
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
