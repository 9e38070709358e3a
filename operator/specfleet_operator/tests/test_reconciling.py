"""Whole passes against an API server in memory."""

from __future__ import annotations

import pytest

from specfleet_operator.api import Conflict, Precondition, as_of
from specfleet_operator.kinds import CHILDREN, FLEET, POD, SECRET
from specfleet_operator.naming import FLEET_LABEL
from specfleet_operator.observed import Observed
from specfleet_operator.planning import Plan
from specfleet_operator.reconciling import carry_out, reconcile
from specfleet_operator.tests.scenes import KEY, STATEFUL_SET, Scene


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
