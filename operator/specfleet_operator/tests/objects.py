"""Builds the objects that the operator's tests put into a cluster."""

from __future__ import annotations

from typing import Any

from specfleet_operator.kinds import FLEET, LEASE
from specfleet_operator.naming import FLEET_LABEL


def config(name: str, *, namespace: str, fleet: str = "", **data: str) -> dict[str, Any]:
    """Return a ConfigMap, labelled as part of a fleet if there is one."""
    labels = {"metadata": {"labels": {FLEET_LABEL: fleet}}} if fleet else {}
    item: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, **labels.get("metadata", {})},
        "data": data,
    }
    return item


def fleet(name: str, *, namespace: str, replicas: int = 1) -> dict[str, Any]:
    """Return a SpeculatorFleet that every rule accepts."""
    return {
        "apiVersion": FLEET.api_version,
        "kind": FLEET.name,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "target": {
                "model": "tiny",
                "source": {"persistentVolumeClaim": {"claimName": "models"}},
            },
            "drafter": {"family": "mtp"},
            "replicas": replicas,
            "engine": {"image": "vllm:1"},
            "store": {
                "s3": {
                    "endpoint": "http://s3:9000",
                    "bucket": "specfleet",
                    "credentialsSecretRef": {"name": "s3"},
                }
            },
        },
    }


def lease(name: str, *, namespace: str, holder: str = "a", seconds: int = 15) -> dict[str, Any]:
    """Return a Lease."""
    return {
        "apiVersion": LEASE.api_version,
        "kind": LEASE.name,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": seconds},
    }
