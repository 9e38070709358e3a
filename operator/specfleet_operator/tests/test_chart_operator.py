"""The operator works with the rights and the settings that the chart gives it, and no others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.cluster.commands import CommandFailed
from e2e.cluster.control_plane import ControlPlane
from specfleet_operator.kinds import CHILDREN
from specfleet_operator.tests.charts import CHART, NO_CRDS, RELEASE, Helm, environment

EXAMPLE = CHART.parents[1] / "examples" / "kind.yaml"
SECONDS = 60
MADE = {kind.name for kind in CHILDREN} - {"Pod", "DrafterPromotion"}
"""No controller makes pods here, and no aggregator judges versions."""


@pytest.fixture(scope="module")
def live(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Give a Helm that installs on the tests' API server, whose definitions are there."""
    home = tmp_path_factory.mktemp("helm-operator")
    return Helm(plane.binaries / "helm", home, plane.kubeconfig)


@pytest.mark.parametrize(
    "only_there",
    [
        pytest.param(False, id="cluster-wide"),
        pytest.param(True, id="namespaced", marks=pytest.mark.e2e),
    ],
)
def test_nothing_is_forbidden_in_the_life_of_a_fleet(
    plane: ControlPlane, live: Helm, tmp_path: Path, only_there: bool
) -> None:
    own, theirs = f"own-{only_there:d}", f"theirs-{only_there:d}"
    for namespace in (own, theirs):
        plane.client.kubectl("create", "namespace", namespace)
    values = {
        **NO_CRDS,
        "watchNamespaces": [theirs] if only_there else [],
        "images": {"defaultEngine": "vllm:1"},
    }
    with release(live, own, values), operator(plane, live, own, values, tmp_path) as log:
        fleet = yaml.safe_load(EXAMPLE.read_text())
        fleet["metadata"]["namespace"] = theirs
        put(plane, fleet)
        until(lambda: kinds(plane, theirs) == MADE, log)
        assert {event["reason"] for event in listed(plane, "events.v1.events.k8s.io", theirs)}

        fleet["spec"]["cohorts"].pop()
        put(plane, fleet)
        until(lambda: len(listed(plane, "statefulsets", theirs)) == 3, log)

        said = log.read_text()
    assert "forbidden" not in said
    assert '"level":"error"' not in said.replace(" ", "")


@contextmanager
def release(helm: Helm, namespace: str, values: Mapping[str, Any]) -> Iterator[None]:
    """Install the chart for the block."""
    helm.run(
        *("install", RELEASE, CHART, "--namespace", namespace, "--values", "-"),
        stdin=yaml.safe_dump(dict(values)),
    )
    yield
    helm.run("uninstall", RELEASE, "--namespace", namespace)


@contextmanager
def operator(
    cluster: ControlPlane, helm: Helm, namespace: str, values: Mapping[str, Any], folder: Path
) -> Iterator[Path]:
    """Run the operator as its service account; the block gets its log."""
    settings = environment(helm.objects(values, namespace=namespace), namespace=namespace)
    account = settings["SPECFLEET_OPERATOR_SERVICE_ACCOUNT"]
    token = cluster.client.kubectl("--namespace", namespace, "create", "token", account).strip()
    config = yaml.safe_load(cluster.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    (folder / "kubeconfig").write_text(yaml.safe_dump(config))
    settings |= {"KUBECONFIG": str(folder / "kubeconfig")}
    # This machine may use the ports of the pod.
    settings |= {f"SPECFLEET_OPERATOR_{name}_PORT": "0" for name in ("HEALTH", "METRICS")}
    log = folder / "operator.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "specfleet_operator"],
            env=dict(os.environ) | settings,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield log
    finally:
        process.terminate()
        code = process.wait(SECONDS)
    assert code == 0, log.read_text()[-2000:]


def put(cluster: ControlPlane, item: Mapping[str, Any]) -> None:
    """Create or replace an object."""
    text = json.dumps(item)
    cluster.client.kubectl("apply", "--server-side", "--filename", "-", stdin=text)


def listed(cluster: ControlPlane, resource: str, namespace: str) -> list[Mapping[str, Any]]:
    """Return all objects of some kinds in a namespace."""
    answer = cluster.client.kubectl("--namespace", namespace, "get", resource, "--output", "json")
    items: list[Mapping[str, Any]] = json.loads(answer)["items"]
    return items


def kinds(cluster: ControlPlane, namespace: str) -> set[str]:
    """Return the kinds of the objects that belong to the fleets of a namespace."""
    every = ",".join(kind.plural for kind in CHILDREN)
    answer = cluster.client.kubectl(
        *("--namespace", namespace, "get", every),
        *("--selector", "specfleet.dev/fleet", "--output", "json"),
    )
    return {item["kind"] for item in json.loads(answer)["items"]}


def until(holds: Callable[[], bool], log: Path) -> None:
    """Wait for something the operator does; what it said is the message when it does not."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        try:
            if holds():
                return
        except CommandFailed:
            pass
        time.sleep(0.2)
    raise AssertionError(log.read_text()[-4000:])
