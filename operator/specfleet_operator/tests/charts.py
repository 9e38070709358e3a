"""Runs the chart through Helm, for tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from specfleet_operator.observed import Object

CHART = Path(__file__).resolve().parents[3] / "charts" / "specfleet"
NAMESPACE = "specfleet-system"
RELEASE = "specfleet"
POD = "specfleet-0"
OLDEST_KUBERNETES = "1.29.0"
NO_CRDS: Mapping[str, Any] = {"crds": {"install": False}}


class HelmRefused(Exception):
    """Helm ended with an error; the message is what it said."""


@dataclass(frozen=True, slots=True)
class Helm:
    """The program, and a directory for what it keeps."""

    program: Path
    home: Path
    kubeconfig: Path | None = None
    """None when no cluster is asked."""

    def run(self, *arguments: str | Path, stdin: str = "") -> str:
        """Return what Helm prints; HelmRefused with what it says when it fails."""
        places = {f"HELM_{name}_HOME": str(self.home) for name in ("CACHE", "CONFIG", "DATA")}
        places["KUBECONFIG"] = str(self.kubeconfig or os.devnull)
        done = subprocess.run(
            [self.program, *arguments],
            input=stdin,
            env=dict(os.environ) | places,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise HelmRefused(done.stderr)
        return done.stdout

    def text(
        self,
        values: Mapping[str, Any] | None = None,
        *,
        release: str = RELEASE,
        namespace: str = NAMESPACE,
        flags: Sequence[str] = (),
    ) -> str:
        """Return the rendered chart, for the oldest Kubernetes that it is for."""
        return self.run(
            *("template", release, str(CHART), "--namespace", namespace, "--values", "-"),
            *("--kube-version", OLDEST_KUBERNETES, *flags),
            stdin=yaml.safe_dump(dict(values or {})),
        )

    def objects(
        self,
        values: Mapping[str, Any] | None = None,
        *,
        release: str = RELEASE,
        namespace: str = NAMESPACE,
        flags: Sequence[str] = (),
    ) -> tuple[Object, ...]:
        """Return the objects of the rendered chart, with those of `helm test`."""
        rendered = self.text(values, release=release, namespace=namespace, flags=flags)
        return tuple(item for item in yaml.safe_load_all(rendered) if item)


def of_kind(objects: Sequence[Object], kind: str) -> tuple[Object, ...]:
    """Return the objects of one kind."""
    return tuple(item for item in objects if item["kind"] == kind)


def only(objects: Sequence[Object], kind: str) -> Object:
    """Return the one object of a kind."""
    found = of_kind(objects, kind)
    assert len(found) == 1, f"{len(found)} objects of kind {kind}, expected one"
    return found[0]


def rules(objects: Sequence[Object]) -> Iterator[tuple[Object, Mapping[str, Any]]]:
    """Yield every rule of every role, with its role."""
    for item in objects:
        if item["kind"] in {"Role", "ClusterRole"}:
            for rule in item["rules"]:
                yield item, rule


def operator_container(objects: Sequence[Object]) -> Mapping[str, Any]:
    """Return the operator's container."""
    (found,) = only(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    return dict(found)


def environment(objects: Sequence[Object], *, namespace: str = NAMESPACE) -> dict[str, str]:
    """Return what the operator finds in its environment."""
    pod = only(objects, "Deployment")["spec"]["template"]["spec"]
    fields = {
        "metadata.name": POD,
        "metadata.namespace": namespace,
        "spec.serviceAccountName": pod["serviceAccountName"],
    }
    return {
        entry["name"]: entry.get("value") or fields[entry["valueFrom"]["fieldRef"]["fieldPath"]]
        for entry in operator_container(objects)["env"]
    }
