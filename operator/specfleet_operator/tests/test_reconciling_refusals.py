"""Passes in which something is refused, undone, or not the fleet's to change."""

from __future__ import annotations

import pytest

from specfleet_operator.api import as_of
from specfleet_operator.kinds import EVENT, FLEET, POD, SECRET
from specfleet_operator.naming import COHORT_LABEL, COMPONENT_LABEL, FLEET_LABEL
from specfleet_operator.observed import ObjectKey, Observed
from specfleet_operator.planning import Plan
from specfleet_operator.reconciling import carry_out, reconcile, tell_failure
from specfleet_operator.tests.objects import config
from specfleet_operator.tests.scenes import CONFIG_MAP, KEY, STATEFUL_SET, Scene, pod_of


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
