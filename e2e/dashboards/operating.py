"""An operator beside a fleet of this machine, so that its metrics are there as well.

It has the fleet as objects of an API server without nodes: it reconciles, and no pod runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from e2e.cluster.control_plane import ControlPlane
from e2e.dashboards.prometheus import Target
from e2e.engines import ROOT
from e2e.operator_process import operator_process
from specfleet_cli.scraping import NAMESPACE

OPERATOR = "operator-0"

_MANIFEST = ROOT / "examples" / "kind.yaml"


@contextmanager
def operator_of(fleet: str, plane: ControlPlane, directory: Path) -> Iterator[Target]:
    """Run an operator that looks after a fleet of this name; give where its metrics are."""
    directory.mkdir(parents=True, exist_ok=True)
    kubectl = plane.client.kubectl
    kubectl("apply", "--server-side", "--filename", str(ROOT / "crds"))
    kubectl("wait", "--for=condition=Established", "crd/speculatorfleets.specfleet.dev")
    plane.client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    account = {"name": "operator", "namespace": NAMESPACE}
    plane.client.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
    manifest = yaml.safe_load(_MANIFEST.read_text(encoding="utf-8"))
    manifest["metadata"] = {"name": fleet, "namespace": NAMESPACE}
    manifest["spec"]["engine"]["image"] = "vllm:1"
    plane.client.apply(manifest)
    try:
        with operator_process(
            plane, directory, name=OPERATOR, namespace=NAMESPACE, watch=NAMESPACE
        ) as operator:
            labels = {"namespace": NAMESPACE, "pod": OPERATOR, "container": "operator"}
            yield Target(f"127.0.0.1:{operator.metrics_port}", labels)
    finally:
        kubectl("delete", "speculatorfleet", fleet, "--namespace", NAMESPACE)
