"""Namespaces of a real API server with our definitions, and the commands in them."""

from __future__ import annotations

import itertools
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from typer.testing import CliRunner, Result

from e2e.cluster.commands import CommandFailed
from e2e.cluster.control_plane import ControlPlane
from specfleet_cli.app import app
from specfleet_cli.options import IN_CLUSTER

CRDS = Path(__file__).parents[3] / "crds"

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Cluster:
    """A namespace of the API server."""

    plane: ControlPlane
    namespace: str

    def call(self, *arguments: str) -> Result:
        """Run a command as kubectl does, in this namespace."""
        where = ("--namespace", self.namespace, "--kubeconfig", str(self.plane.kubeconfig))
        return CliRunner().invoke(app, [*arguments, *where], obj=IN_CLUSTER)

    def get(self, kind: str, name: str) -> Any:
        """Return an object."""
        return self.plane.client.get("--namespace", self.namespace, kind, name)

    def apply(self, *items: Any) -> None:
        """Apply objects in this namespace."""
        here = {"namespace": self.namespace}
        self.plane.client.apply(*({**item, "metadata": item["metadata"] | here} for item in items))

    def say(self, kind: str, name: str, status: Any) -> None:
        """Write the status of an object, as the operator does."""
        self.plane.client.kubectl(
            *("--namespace", self.namespace, "patch", kind, name),
            *("--subresource", "status", "--type", "merge"),
            *("--patch", json.dumps({"status": status})),
        )

    def kubeconfig(self, directory: Path) -> Path:
        """Write a kubeconfig whose context has the namespace."""
        config = yaml.safe_load(self.plane.kubeconfig.read_text())
        config["contexts"][0]["context"]["namespace"] = self.namespace
        (directory / "kubeconfig").write_text(yaml.safe_dump(config))
        return directory / "kubeconfig"


def defined(api_server: ControlPlane) -> ControlPlane:
    """Return the API server with our definitions, once it serves them."""
    client = api_server.client
    client.kubectl("apply", "--filename", str(CRDS))
    client.kubectl("wait", "--for=condition=Established", "--filename", str(CRDS))
    deadline = time.monotonic() + 30
    while True:
        try:
            client.get("drafterpromotions,speculatorfleets", "--all-namespaces")
            return api_server
        except CommandFailed:
            assert time.monotonic() < deadline, "the definitions are not served"
            time.sleep(0.1)


def new_namespace(plane: ControlPlane) -> Cluster:
    """Return a namespace that no other test uses."""
    namespace = f"commands-{next(_numbers)}"
    plane.client.kubectl("create", "namespace", namespace)
    return Cluster(plane, namespace)
