"""A cluster with the kinds of the Prometheus Operator gets monitors, rules and dashboards."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from e2e.cluster.cluster import Cluster
from e2e.kubernetes.fleet import Fleet
from e2e.kubernetes.installation import CHART, NAMESPACE, Installation
from e2e.kubernetes.waiting import until
from tools import prometheus_operator
from tools.go import cache

pytestmark = [pytest.mark.cluster, pytest.mark.long]

GROUP = "monitoring.coreos.com"
WANTED = ("metrics.serviceMonitor.enabled", "metrics.rules.enabled", "metrics.dashboards.enabled")
LABEL = {"release": "prometheus"}


@pytest.fixture
def remove_kinds(cluster: Cluster, installation: Installation) -> Iterator[Callable[[], None]]:
    """Give the cluster the kinds, and what takes them away again unless they are somebody's."""
    kubectl = cluster.client.kubectl
    listed = kubectl("get", "customresourcedefinitions", "--output", "name")
    are_ours = f".{GROUP}" not in listed
    folder = str(prometheus_operator.definitions(cache(os.environ), os.environ))
    if are_ours:
        # Too large for the annotation of a plain apply.
        kubectl("create", "--filename", folder)
        kubectl("wait", "--for=condition=Established", "--timeout=60s", "--filename", folder)

    def remove() -> None:
        installation.upgrade()
        if are_ours:
            kubectl("delete", "--ignore-not-found", "--filename", folder)

    yield remove
    remove()


def test_monitors_rules_and_dashboards_come_and_their_kinds_may_go(
    fleet: Fleet, installation: Installation, remove_kinds: Callable[[], None]
) -> None:
    fleet.apply({"replicas": 1})
    fleet.wait_until_ready()
    before, valid = fleet.uids(), fleet.condition("SpecValid")

    installation.upgrade(
        *(f"{switch}=true" for switch in WANTED),
        *(f"metrics.fleets.podMonitorLabels.{name}={value}" for name, value in LABEL.items()),
    )
    monitors = until(
        lambda: fleet.client.get("-n", fleet.namespace, f"podmonitors.{GROUP}")["items"],
        lambda found: len(found) == 2,
        what="a monitor of the engines and one of the aggregator",
        seconds=60,
    )
    rules, service_monitors = (
        fleet.client.get("-n", NAMESPACE, f"{kind}.{GROUP}")["items"]
        for kind in ("prometheusrules", "servicemonitors")
    )
    dashboards = fleet.client.get("-n", NAMESPACE, "configmaps", "-l", "grafana_dashboard=1")
    remove_kinds()
    fleet.apply({"replicas": 1, "aggregation": {"localSteps": 9}})
    fleet.wait_until_ready()

    assert all(LABEL.items() <= one["metadata"]["labels"].items() for one in monitors)
    assert (len(rules), len(service_monitors)) == (1, 1)
    assert len(dashboards["items"]) == len(list((CHART / "dashboards").glob("*.json")))
    assert fleet.condition("SpecValid")["lastTransitionTime"] == valid["lastTransitionTime"]
    assert fleet.uids() == before
