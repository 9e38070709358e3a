"""The product as its users install it: with the chart, and nothing else."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from e2e.cluster.client import Client
from e2e.cluster.cluster import Cluster
from e2e.cluster.programs import ROOT
from e2e.kubernetes.waiting import until

NAMESPACE = "specfleet-system"
RELEASE = "specfleet"
CHART = ROOT / "charts" / "specfleet"
LEASE_SECONDS = 5

_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Installation:
    """The chart's release, and the operators that it runs."""

    cluster: Cluster

    @property
    def client(self) -> Client:
        """Return the cluster's."""
        return self.cluster.client

    def upgrade(self, *values: str) -> None:
        """Install the chart, or upgrade it; `values` are more of Helm's `--set`."""
        registry, _, _ = self.cluster.image("operator").rpartition("/")
        _, _, tag = self.cluster.image("operator").rpartition(":")
        settings = [
            f"images.registry={registry}",
            *(f"images.{name}.tag={tag}" for name in ("operator", "aggregator", "agent")),
            f"images.defaultEngine={self.cluster.image('engine-cpu')}",
            f"operator.leaseSeconds={LEASE_SECONDS}",
            *values,
        ]
        self.client.helm(
            *("upgrade", "--install", RELEASE, str(CHART)),
            *("--namespace", NAMESPACE, "--create-namespace", "--wait", f"--timeout={_SECONDS}s"),
            *(argument for setting in settings for argument in ("--set", setting)),
            seconds=_SECONDS + 30,
        )

    def test(self) -> str:
        """Run the chart's own test and return what Helm says."""
        return self.client.helm("test", RELEASE, "--namespace", NAMESPACE, "--timeout=90s")

    def uninstall(self) -> None:
        """Remove the release, and return when no operator is left."""
        # Helm 4 waits for the definitions to go, too, which it was told to keep.
        self.client.helm("uninstall", RELEASE, "--namespace", NAMESPACE)
        until(self.pods, lambda pods: not pods, what="no operator", seconds=60)

    def kubectl(self, *arguments: str) -> str:
        """Return what kubectl says in the operators' namespace."""
        return self.client.kubectl("--namespace", NAMESPACE, *arguments)

    def pods(self) -> list[dict[str, Any]]:
        """Return the operators' pods that are not on their way out."""
        labels = "app.kubernetes.io/component=operator"
        listed = self.client.get("-n", NAMESPACE, "pods", "-l", labels)["items"]
        return [pod for pod in listed if "deletionTimestamp" not in pod["metadata"]]

    def leader(self) -> str:
        """Return the name of the pod that leads now; empty while none does."""
        lease = self.client.get("-n", NAMESPACE, "lease", RELEASE)
        holder = str(lease["spec"].get("holderIdentity") or "")
        return next(
            (name for pod in self.pods() if (name := pod["metadata"]["name"]) in holder), ""
        )

    def starts(self, pod: str) -> int:
        """Return how often an operator's container was started again."""
        statuses = self.client.get("-n", NAMESPACE, "pod", pod)["status"]["containerStatuses"]
        return sum(int(one["restartCount"]) for one in statuses)

    def scale(self, replicas: int) -> None:
        """Run so many operators, and return when they are ready, or gone."""
        self.kubectl("scale", "deployment", RELEASE, f"--replicas={replicas}")
        if replicas:
            self.kubectl("rollout", "status", f"deployment/{RELEASE}", "--timeout=90s")
        until(self.pods, lambda pods: len(pods) == replicas, what="operators' pods", seconds=60)

    def logs(self) -> list[dict[str, Any]]:
        """Return what the operators of today have logged."""
        entries = []
        for pod in self.pods():
            printed = self.kubectl("logs", pod["metadata"]["name"], "--tail=-1")
            entries += [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
        return entries
