"""What a real API server says to the rendered chart, of which nothing is installed."""

from __future__ import annotations

import pytest
import yaml

from e2e.cluster.control_plane import ControlPlane
from specfleet_operator.tests.chart_snapshots import DIFFERENT
from specfleet_operator.tests.charts import NAMESPACE, Helm


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
