"""What `specfleet plan` says is what a real operator then does, and `describe` tells of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from e2e.cluster.control_plane import ControlPlane
from e2e.kubernetes.waiting import until
from e2e.operator_process import operator_process
from specfleet_cli.tests.clusters import Cluster, defined, new_namespace
from specfleet_common.api.testing import fleet_object

pytestmark = pytest.mark.e2e

SECONDS = 120.0
PREFIX = "SPECFLEET_OPERATOR_"


def deployment(operator: str, *, watch: str) -> dict[str, Any]:
    """Return the Deployment of an operator like the one that runs as a process."""
    labels = {
        "app.kubernetes.io/component": "operator",
        "app.kubernetes.io/part-of": "specfleet",
        "app.kubernetes.io/version": version("specfleet"),
    }
    settings = {"AGENT_IMAGE": "agent:1", "AGGREGATOR_IMAGE": "aggregator:1", "NAMESPACES": watch}
    container = {
        "name": "operator",
        "image": "operator:1",
        "env": [{"name": f"{PREFIX}{key}", "value": value} for key, value in settings.items()],
    }
    pod = {"serviceAccountName": "operator", "containers": [container]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": operator, "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


@pytest.fixture(scope="module")
def cluster(
    api_server: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """Give a namespace that an operator looks after."""
    plane = defined(api_server)
    fleets, operator = new_namespace(plane), new_namespace(plane)
    operator.apply(deployment("specfleet", watch=fleets.namespace))
    with operator_process(
        plane,
        tmp_path_factory.mktemp("operator"),
        name="planner",
        namespace=operator.namespace,
        watch=fleets.namespace,
        # It is the only one, and ends when it cannot renew its Lease in time.
        lease_seconds=60.0,
    ):
        yield fleets


def planned(cluster: Cluster, file: Path, fleet: dict[str, Any]) -> Result:
    file.write_text(json.dumps(fleet))
    return cluster.call("plan", "--filename", str(file))


def created(text: str) -> set[tuple[str, str]]:
    """Return the kinds and names of the objects that a plan has as new."""
    lines = text.split("--- /dev/null\n+++ ")[1:]
    found = (line.splitlines()[0].split("/") for line in lines)
    return {(kind, name) for kind, name in found}


def test_a_plan_comes_true(cluster: Cluster, tmp_path: Path) -> None:
    file, fleet = tmp_path / "fleet.yaml", fleet_object(spec__engine={"image": "vllm:1"})
    scaled = fleet_object(
        spec__engine={"image": "vllm:1"}, spec__replicas=2, spec__aggregation={"localSteps": 7}
    )

    new = planned(cluster, file, fleet)
    cluster.apply(fleet)
    until(
        lambda: objects(cluster),
        lambda found: created(new.stdout) <= found,
        what="everything that was planned exists",
        seconds=SECONDS,
    )
    same = planned(cluster, file, fleet)
    changed = planned(cluster, file, scaled)
    cluster.apply(scaled)
    until(
        lambda: (replicas(cluster), local_steps(cluster)),
        lambda found: found == (2, 7),
        what="the change that was planned is there",
        seconds=SECONDS,
    )
    after = planned(cluster, file, scaled)

    assert new.exit_code == 1, new.stderr
    assert ("StatefulSet", "tiny-main") in created(new.stdout)
    assert (same.exit_code, same.stderr) == (0, "")
    assert same.stdout.endswith("nothing would change.\n")
    assert changed.exit_code == 1, changed.stderr
    assert "of its objects 2 changed." in changed.stdout
    assert "\n-    localSteps: 100\n+    localSteps: 7\n" in changed.stdout
    assert changed.stdout.endswith("No pod would be restarted.\n")
    assert after.exit_code == 0, after.stdout


def test_describe_names_events_for_what_holds(cluster: Cluster) -> None:
    cluster.apply(fleet_object(metadata={"name": "seen"}, spec__engine={"image": "vllm:1"}))

    described = until(
        lambda: cluster.plane.client.kubectl(
            "--namespace", cluster.namespace, "describe", "speculatorfleet", "seen"
        ),
        lambda text: "SpecValid" in text.partition("Events:")[2],
        what="an event of the fleet",
        seconds=SECONDS,
    )

    events = [line.split() for line in described.partition("Events:")[2].splitlines()[3:]]
    assert ["Normal", "SpecValid"] in [event[:2] for event in events]


def objects(cluster: Cluster) -> set[tuple[str, str]]:
    kinds = "statefulsets,services,configmaps,serviceaccounts,networkpolicies,poddisruptionbudgets"
    label = "specfleet.dev/fleet=tiny"
    here = ("--namespace", cluster.namespace)
    found = cluster.plane.client.get(*here, kinds, "--selector", label)["items"]
    known = {(item["kind"], item["metadata"]["name"]) for item in found}
    return {*known, ("SpeculatorFleet", "tiny")}


def replicas(cluster: Cluster) -> int:
    return int(cluster.get("statefulset", "tiny-main")["spec"]["replicas"])


def local_steps(cluster: Cluster) -> int:
    data = cluster.get("configmap", "tiny-settings")["data"]
    return int(json.loads(data["settings.json"])["localSteps"])
