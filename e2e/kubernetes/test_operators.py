"""Operators die, freeze, are upgraded and removed; fleets serve and learn on."""

from __future__ import annotations

import time
from typing import Any

import pytest

from e2e.cluster.images import OTHER_OPERATOR
from e2e.cluster_traffic.judging import assert_no_failures
from e2e.kubernetes.fleet import Fleet, is_ready
from e2e.kubernetes.freezing import frozen
from e2e.kubernetes.installation import LEASE_SECONDS, Installation
from e2e.kubernetes.traffic import traffic
from e2e.kubernetes.waiting import until

pytestmark = pytest.mark.cluster


def test_operator_pods_are_deleted(fleet: Fleet, installation: Installation) -> None:
    fleet.apply({"replicas": 1})
    fleet.wait_until_ready()

    with traffic(fleet) as watch:
        watch.mark("deleted")
        installation.kubectl("delete", "pods", "--all", "--wait=false")
        installation.scale(2)
        fleet.kubectl("scale", "sfleet", fleet.name, "--replicas=2")
        fleet.wait_until_ready()
        deleted = watch.window("deleted")

    assert_no_failures(deleted, minimum=20)
    assert len(fleet.pods()) == 2


@pytest.mark.long
def test_without_operators_a_fleet_serves_and_learns_and_an_edit_waits(
    fleet: Fleet, installation: Installation
) -> None:
    fleet.apply({"replicas": 2, "train": True, "serve": "Local"})
    fleet.wait_until_ready()

    installation.scale(0)
    try:
        with traffic(fleet) as watch:
            watch.mark("without")
            fleet.kubectl("delete", "pod", f"{fleet.name}-aggregator-0", "--wait=false")
            fleet.kubectl("delete", "pod", f"{fleet.name}-main-1", "--wait=false")
            fleet.kubectl("scale", "sfleet", fleet.name, "--replicas=3")
            until(
                lambda: [pod for pod in fleet.pods() if is_ready(pod)],
                lambda pods: len(pods) == 2,
                what="the pod that was deleted is back",
                seconds=60,
            )
            fleet.until_it_learns(seconds=120)
            watch.until(requests=40, seconds=60)
            without = watch.window("without")
        assert len(fleet.pods()) == 2
    finally:
        installation.scale(2)

    fleet.wait_until_ready()
    assert len(fleet.pods()) == 3
    assert_no_failures(without, minimum=40)


def test_a_frozen_leader_changes_nothing_when_it_wakes_up(
    fleet: Fleet, installation: Installation
) -> None:
    fleet.apply({"replicas": 1})
    fleet.wait_until_ready()
    first = until(installation.leader, what="a leader", seconds=30)
    starts = installation.starts(first)

    fleet.kubectl("scale", "sfleet", fleet.name, "--replicas=2")  # it has something to do
    with frozen(fleet, f"SPECFLEET_OPERATOR_POD_NAME={first}"):
        second = until(
            installation.leader, lambda name: name not in ("", first), what="another", seconds=60
        )
        fleet.kubectl("scale", "sfleet", fleet.name, "--replicas=1")
        fleet.wait_until_ready()
        before = specifications(fleet)
    until(
        lambda: installation.starts(first),
        lambda found: found > starts,
        what=f"{first} ends, because it has lost its Lease",
        seconds=60,
    )
    fleet.wait_until_ready()

    assert specifications(fleet) == before
    assert installation.leader() == second
    assert len(fleet.pods()) == 1


def test_a_fleet_is_deleted_without_an_operator(fleet: Fleet, installation: Installation) -> None:
    fleet.apply({"replicas": 1})
    fleet.wait_until_ready()
    until(fleet.versions, what="version 0 in the store", seconds=60)

    installation.scale(0)
    try:
        fleet.delete()
        until(lambda: left(fleet), lambda names: not names, what="nothing of the fleet", seconds=90)
    finally:
        installation.scale(2)

    assert fleet.versions() == [0]


def test_an_upgraded_operator_restarts_no_container(
    fleet: Fleet, installation: Installation
) -> None:
    fleet.apply({"replicas": 2})
    fleet.wait_until_ready()
    before = fleet.uids()

    with traffic(fleet) as watch:
        watch.mark("upgraded")
        # An operator that renders pods otherwise, and that knows other images.
        installation.upgrade(
            f"images.operator.repository=specfleet-{OTHER_OPERATOR}",
            "images.agent.tag=next",
            "images.aggregator.tag=next",
        )
        edited = {"aggregation": {"localSteps": 9}, "promotion": {"minimumRounds": 7}}
        fleet.apply({"replicas": 3, **edited})
        fleet.wait_until_ready()
        upgraded = watch.window("upgraded")
    after = fleet.uids()
    rendered_anew = Fleet(fleet.cluster, fleet.s3, fleet.namespace, "younger")
    rendered_anew.apply({"replicas": 1})
    (younger,) = until(rendered_anew.pods, what="a pod of a younger fleet", seconds=60)
    installation.upgrade()

    assert before.items() <= after.items()
    assert len(after) == len(before) + 1
    assert not any(fleet.restarts().values())
    assert_no_failures(upgraded, minimum=20)
    assert {seconds_to_end(pod) for pod in fleet.pods()} == {seconds_to_end(younger) - 1}


def test_the_chart_is_uninstalled_and_fleets_stay(fleet: Fleet, installation: Installation) -> None:
    fleet.apply({"replicas": 1})
    fleet.wait_until_ready()
    before = fleet.uids()

    with traffic(fleet) as watch:
        watch.mark("uninstalled")
        installation.uninstall()
        watch.until(requests=20, seconds=60)
        assert fleet.uids() == before
        installation.upgrade()
        fleet.wait_until_ready()
        uninstalled = watch.window("uninstalled")

    assert fleet.uids() == before
    assert_no_failures(uninstalled, minimum=20)


@pytest.mark.long
def test_operators_at_rest_write_nothing(fleet: Fleet, installation: Installation) -> None:
    fleet.apply({"replicas": 1})
    fleet.wait_until_ready()
    until(lambda: others(fleet), lambda names: not names, what="no other fleet", seconds=120)
    time.sleep(2 * LEASE_SECONDS)
    before = written(installation)

    time.sleep(30)

    assert written(installation) - before <= 1


def test_the_charts_own_test(installation: Installation) -> None:
    printed = installation.test()

    assert "Phase:" in printed and "Succeeded" in printed


def test_no_operator_was_refused_anything(installation: Installation) -> None:
    refused = [
        entry
        for entry in installation.logs()
        if "orbidden" in str(entry) and "being terminated" not in str(entry)
    ]

    assert refused == []


def written(installation: Installation) -> float:
    """Return how many writes the leader has made, those of its Lease aside."""
    leader = until(installation.leader, what="a leader", seconds=30)
    script = (
        "import urllib.request; "
        "print(urllib.request.urlopen('http://127.0.0.1:9090/metrics').read().decode())"
    )
    metrics = installation.kubectl("exec", leader, "--", "python3", "-c", script)
    return sum(
        float(line.rsplit(" ", 1)[1])
        for line in metrics.splitlines()
        if line.startswith("specfleet_operator_api_writes_total") and "lease" not in line.lower()
    )


def left(fleet: Fleet) -> list[str]:
    """Return the names of everything that the operator made for a fleet and that is still there."""
    found = fleet.client.get(
        *("-n", fleet.namespace, "-l", f"specfleet.dev/fleet={fleet.name}"),
        "all,configmaps,secrets,networkpolicies,poddisruptionbudgets,serviceaccounts",
    )
    return [f"{one['kind']} {one['metadata']['name']}" for one in found["items"]]


def specifications(fleet: Fleet) -> dict[str, str]:
    """Return of all that an operator writes for a fleet which object it is, and of which spec."""
    found = fleet.client.get(
        *("-n", fleet.namespace, "-l", f"specfleet.dev/fleet={fleet.name}"),
        "statefulsets,services,networkpolicies,poddisruptionbudgets,configmaps,secrets,pods",
    )
    return {
        f"{one['kind']} {one['metadata']['name']}": " ".join(
            # What has no generation is written by nobody else.
            str(one["metadata"].get(name, one["metadata"]["resourceVersion"]))
            for name in ("uid", "generation")
        )
        for one in found["items"]
        if "deletionTimestamp" not in one["metadata"]
    }


def others(fleet: Fleet) -> list[str]:
    """Return the namespaces of fleets that earlier tests have left and that are on their way."""
    listed = fleet.client.get("sfleet", "--all-namespaces")["items"]
    return [
        item["metadata"]["namespace"]
        for item in listed
        if item["metadata"]["namespace"] != fleet.namespace
    ]


def seconds_to_end(pod: dict[str, Any]) -> int:
    """Return the time a pod is given to end."""
    return int(pod["spec"]["terminationGracePeriodSeconds"])
