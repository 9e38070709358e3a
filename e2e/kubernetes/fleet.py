"""A fleet in the cluster, as a test sees and changes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from e2e.cluster.client import Client
from e2e.cluster.cluster import Cluster
from e2e.kubernetes import manifests
from e2e.kubernetes.s3 import S3
from e2e.kubernetes.waiting import until

ENGINE, AGGREGATOR = "engine", "aggregator"
AGENT = "agent"
READY_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Fleet:
    """One SpeculatorFleet; it may not be there yet, or any more."""

    cluster: Cluster
    s3: S3
    namespace: str
    name: str

    @property
    def client(self) -> Client:
        """Return the cluster's."""
        return self.cluster.client

    def apply(self, spec: Mapping[str, Any]) -> None:
        """Create the fleet, or change it: `spec` is what differs from a small one of simulators."""
        self.client.apply(
            manifests.fleet(self.name, self.namespace, spec, cluster=self.cluster, s3=self.s3)
        )

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """Return what kubectl says in the fleet's namespace."""
        return self.client.kubectl("--namespace", self.namespace, *arguments, stdin=stdin)

    def patch(self, changes: Mapping[str, Any]) -> None:
        """Change the object by a merge patch."""
        self.kubectl("patch", "sfleet", self.name, "--type=merge", "--patch", json.dumps(changes))

    def object(self) -> dict[str, Any]:
        """Return the resource as it is now."""
        found: dict[str, Any] = self.client.get("-n", self.namespace, "sfleet", self.name)
        return found

    def status(self) -> dict[str, Any]:
        """Return the status as it is now, empty while there is none."""
        return dict(self.object().get("status", {}))

    def condition(self, kind: str) -> Mapping[str, Any]:
        """Return one condition, as far as it is of the newest spec; empty when it is absent."""
        found = self.object()
        entry = manifests.condition(found, kind)
        current = entry.get("observedGeneration") == found["metadata"]["generation"]
        return entry if current else {}

    def wait_for(
        self, kind: str, status: str, reason: str | None = None, *, seconds: float = READY_SECONDS
    ) -> Mapping[str, Any]:
        """Wait for a condition of the newest spec."""
        return until(
            lambda: self.condition(kind),
            lambda entry: (
                entry.get("status") == status and (reason is None or entry.get("reason") == reason)
            ),
            what=f"{self.name}: {kind}={status} {reason or ''}",
            seconds=seconds,
        )

    def wait_until_ready(self, *, seconds: float = READY_SECONDS) -> None:
        """Wait until the newest spec is what runs."""
        self.wait_for("Ready", "True", seconds=seconds)

    def until_it_learns(self, *, seconds: float) -> None:
        """Wait for a version that is not there yet."""
        before = self.versions()
        until(
            self.versions,
            lambda found: len(found) > len(before),
            what=f"a version after {before[-1:]}",
            seconds=seconds,
        )

    def pods(self, component: str = ENGINE, *, cohort: str | None = None) -> list[dict[str, Any]]:
        """Return the pods of a component that are not on their way out."""
        labels = f"specfleet.dev/fleet={self.name},app.kubernetes.io/component={component}"
        if cohort is not None:
            labels += f",specfleet.dev/cohort={cohort}"
        listed = self.client.get("-n", self.namespace, "pods", "-l", labels)["items"]
        return [pod for pod in listed if "deletionTimestamp" not in pod["metadata"]]

    def restarts(self) -> dict[str, int]:
        """Return how often each container was restarted, by pod and container."""
        return {
            f"{pod['metadata']['name']}/{container['name']}": container["restartCount"]
            for component in (ENGINE, AGGREGATOR)
            for pod in self.pods(component)
            for kind in ("containerStatuses", "initContainerStatuses")
            for container in pod["status"].get(kind, [])
        }

    def uids(self) -> dict[str, str]:
        """Return the identity of every pod by its name."""
        return {
            pod["metadata"]["name"]: pod["metadata"]["uid"]
            for component in (ENGINE, AGGREGATOR)
            for pod in self.pods(component)
        }

    def python(self, pod: str, container: str, script: str, *arguments: str) -> str:
        """Return what a script prints in a container."""
        return self.kubectl(
            "exec", pod, "--container", container, "--", "python3", "-c", script, *arguments
        )

    def versions(self) -> list[int]:
        """Return the numbers of the versions that the store has, whole."""
        keys = self.s3.keys(f"{self.namespace}/{self.name}/")
        return sorted(int(key.split("/")[-2]) for key in keys if key.endswith("/manifest.json"))

    def url(self) -> str:
        """Return the address of the fleet's Service for clients in the cluster."""
        return f"http://{self.name}.{self.namespace}.svc:8000"

    def delete(self) -> None:
        """Delete the resource, and return when it is gone."""
        self.kubectl("delete", "sfleet", self.name, "--wait", "--timeout=60s")


def is_ready(pod: Mapping[str, Any]) -> bool:
    """Say whether a pod gets traffic."""
    return ready_since(pod) is not None


def ready_since(pod: Mapping[str, Any]) -> str | None:
    """Return since when a pod gets traffic, without a break; None while it gets none."""
    for entry in pod["status"].get("conditions", []):
        if entry["type"] == "Ready" and entry["status"] == "True":
            return str(entry["lastTransitionTime"])
    return None
