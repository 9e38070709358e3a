"""What happens to the engines of a fleet, and that nobody who asks notices."""

from __future__ import annotations

import pytest

from e2e.cluster.commands import CommandFailed
from e2e.cluster_traffic.judging import assert_no_failures, assert_same_answers
from e2e.kubernetes import manifests
from e2e.kubernetes.fleet import Fleet
from e2e.kubernetes.traffic import traffic
from e2e.kubernetes.waiting import until

pytestmark = pytest.mark.cluster


def test_an_engine_pod_is_deleted(fleet: Fleet) -> None:
    fleet.apply({"replicas": 2})
    fleet.wait_until_ready()

    with traffic(fleet) as watch:
        watch.mark("deleted")
        fleet.kubectl("delete", "pod", f"{fleet.name}-main-0", "--wait=false")
        until(lambda: len(fleet.pods()), lambda number: number == 2, what="two pods", seconds=60)
        fleet.wait_until_ready()
        watch.until(requests=40, seconds=60)
        deleted = watch.window("deleted")

    assert_no_failures(deleted, minimum=40)
    assert_same_answers(deleted)


def test_scaling_up_down_to_zero_and_back(fleet: Fleet) -> None:
    fleet.apply({"replicas": 1})
    fleet.wait_until_ready()

    with traffic(fleet) as watch:
        watch.mark("scaled up")
        fleet.kubectl("scale", "sfleet", fleet.name, "--replicas=3")
        fleet.wait_until_ready()
        assert fleet.status()["readyReplicas"] == 3
        watch.mark("scaled down")
        fleet.kubectl("scale", "sfleet", fleet.name, "--replicas=1")
        until(lambda: len(fleet.pods()), lambda number: number == 1, what="one pod", seconds=60)
        fleet.wait_until_ready()
        watch.until(requests=20, seconds=60)
        windows = {window.name: window for window in watch.windows()}
    fleet.kubectl("scale", "sfleet", fleet.name, "--replicas=0")
    until(fleet.pods, lambda pods: not pods, what="no engine", seconds=60)
    nothing = fleet.wait_for("Serving", "False")
    fleet.kubectl("scale", "sfleet", fleet.name, "--replicas=1")
    fleet.wait_until_ready()

    assert_no_failures(windows["scaled up"], minimum=20)
    assert_no_failures(windows["scaled down"], minimum=20)
    assert nothing["reason"] == "ScaledToZero"


def test_a_cohort_is_added_and_removed(fleet: Fleet) -> None:
    fleet.apply({"replicas": 1})
    fleet.wait_until_ready()
    before = fleet.uids()
    control = {"name": "control", "replicas": 1, "train": False, "serve": "Stock"}

    with traffic(fleet) as watch:
        watch.mark("added")
        fleet.apply({"replicas": 1, "cohorts": [control]})
        fleet.wait_until_ready()
        assert len(fleet.pods(cohort="control")) == 1
        watch.mark("removed")
        fleet.apply({"replicas": 1})
        until(lambda: fleet.pods(cohort="control"), lambda pods: not pods, what="gone", seconds=60)
        fleet.wait_until_ready()
        watch.until(requests=20, seconds=60)
        windows = {window.name: window for window in watch.windows()}

    assert_no_failures(windows["added"], minimum=10)
    assert_no_failures(windows["removed"], minimum=20)
    assert fleet.uids() == before


def test_edits_of_training_restart_nothing(fleet: Fleet) -> None:
    fleet.apply({"replicas": 1})
    fleet.wait_until_ready()
    before = fleet.uids()

    fleet.apply({"trainer": {"learningRate": "0.001"}, "aggregation": {"localSteps": 7}})
    # Ready again is also: the aggregator has these settings.
    fleet.wait_until_ready()

    assert fleet.uids() == before
    assert not any(fleet.restarts().values())


def test_a_bad_edit_leaves_the_fleet_alone(fleet: Fleet) -> None:
    fleet.apply({"replicas": 1})
    fleet.wait_until_ready()
    before = fleet.uids()

    # What the API server can tell by itself is refused at once.
    with pytest.raises(CommandFailed, match=r"spec\.replicas.*-1"):
        fleet.patch({"spec": {"replicas": -1}})
    with pytest.raises(CommandFailed, match=r"field not declared in schema|unknown field"):
        fleet.apply({"replica": 1})
    with pytest.raises(CommandFailed, match=r"engine\.args.*--port is set by specfleet"):
        fleet.patch({"spec": {"engine": {"args": ["--port", "1"]}}})
    # What it finds only when the operator asks for pods is a condition.
    tolerations = [{"key": "a", "operator": "Sometimes"}]
    fleet.patch({"spec": {"engine": {"pod": {"tolerations": tolerations}}}})
    invalid = fleet.wait_for("SpecValid", "False")
    with traffic(fleet) as watch:
        watch.until(requests=20, seconds=60)
        meanwhile = watch.windows()[0]

    assert "tolerations" in invalid["message"]
    assert fleet.uids() == before
    assert_no_failures(meanwhile, minimum=20)


@pytest.mark.restricted
def test_a_namespace_that_takes_restricted_pods_only(fleet: Fleet) -> None:
    volume, claim = manifests.models_volume(f"models-{fleet.namespace}", fleet.namespace)
    fleet.client.apply(volume, claim)
    name = claim["metadata"]["name"]
    source = {"hostPath": None, "persistentVolumeClaim": {"claimName": name}}

    fleet.apply({"replicas": 1, "train": True, "target": {"source": source}})
    fleet.wait_until_ready()

    with traffic(fleet) as watch:
        watch.until(requests=20, seconds=60)
        (window,) = watch.windows()
    fleet.client.kubectl("delete", "persistentvolume", name, "--wait=false")
    assert_no_failures(window, minimum=20)
