"""What a real API server says to the rendered chart, of which nothing is installed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import pytest
import yaml

from e2e.cluster.control_plane import ControlPlane
from specfleet_operator.rendering.monitors import pod_monitors
from specfleet_operator.tests.building import FACTS, subject
from specfleet_operator.tests.chart_snapshots import DIFFERENT
from specfleet_operator.tests.charts import NAMESPACE, Helm
from tools import prometheus_operator
from tools.go import cache


@pytest.fixture(scope="module")
def namespaces(plane: ControlPlane) -> ControlPlane:
    """Give the tests' API server with the namespaces that the chart is rendered for."""
    for namespace in (NAMESPACE, "team-a", "team-b"):
        plane.client.kubectl("create", "namespace", namespace)
        # No controller makes it here, and pods are refused without it.
        plane.client.kubectl("--namespace", namespace, "create", "serviceaccount", "default")
    return plane


@pytest.mark.parametrize("name", [None, *DIFFERENT])
def test_the_api_server_takes_every_object(
    namespaces: ControlPlane, helm: Helm, name: str | None
) -> None:
    rendered = helm.text({} if name is None else DIFFERENT[name])

    answer = namespaces.client.kubectl(
        "apply", "--dry-run=server", "--filename", "-", stdin=rendered
    )

    assert all(line.endswith("(server dry run)") for line in answer.splitlines())


@pytest.fixture(scope="module")
def monitored(namespaces: ControlPlane) -> Iterator[ControlPlane]:
    """Give an API server with the definitions of the Prometheus Operator, until the module ends."""
    folder = str(prometheus_operator.definitions(cache(os.environ), os.environ))
    kubectl = namespaces.client.kubectl
    kubectl("create", "--filename", folder)
    try:
        kubectl("wait", "--for=condition=Established", "--timeout=60s", "--filename", folder)
        yield namespaces
    finally:
        kubectl("delete", "--filename", folder)


MONITORING = {
    "crds": {"install": False},
    "metrics": {
        "dashboards": {"enabled": True},
        "serviceMonitor": {"enabled": True},
        "rules": {"enabled": True, "runbookUrl": "https://docs.example.com/ALERT.html"},
    },
}
MONITORING_KINDS = [
    *("--api-versions", "monitoring.coreos.com/v1/PrometheusRule"),
    *("--api-versions", "monitoring.coreos.com/v1/ServiceMonitor"),
]


def test_a_cluster_that_is_monitored_takes_monitors_rules_and_dashboards(
    monitored: ControlPlane, helm: Helm
) -> None:
    rendered = helm.text(MONITORING, flags=MONITORING_KINDS)

    answer = monitored.client.kubectl(
        *("apply", "--dry-run=server", "--validate=strict", "--filename", "-"), stdin=rendered
    )

    taken = {line.partition("/")[0] for line in answer.splitlines()}
    assert {
        "configmap",
        "prometheusrule.monitoring.coreos.com",
        "servicemonitor.monitoring.coreos.com",
    } <= taken


def test_they_take_the_monitors_of_fleets(monitored: ControlPlane) -> None:
    facts = replace(
        FACTS,
        optional_kinds=frozenset({"PodMonitor"}),
        pod_monitor_labels={"release": "prometheus"},
    )
    monitors = [
        item | {"metadata": item["metadata"] | {"namespace": NAMESPACE}}
        for item in pod_monitors(subject(facts))
    ]

    for item in monitors:
        monitored.client.kubectl(
            *("create", "--dry-run=server", "--validate=strict", "--filename", "-"),
            stdin=yaml.safe_dump(item),
        )

    assert monitors


def test_pods_pass_the_strictest_pod_security(namespaces: ControlPlane, helm: Helm) -> None:
    namespaces.client.kubectl(
        "label", "namespace", "team-b", "pod-security.kubernetes.io/enforce=restricted"
    )
    rendered = helm.objects(namespace="team-b")
    deployment = next(item for item in rendered if item["kind"] == "Deployment")
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "operator", "namespace": "team-b"},
        "spec": deployment["spec"]["template"]["spec"] | {"serviceAccountName": "default"},
    }
    check = next(item for item in rendered if item["kind"] == "Pod")

    for item in (pod, check):
        namespaces.client.kubectl(
            *("create", "--dry-run=server", "--filename", "-"), stdin=yaml.safe_dump(item)
        )
