"""The fleets of the tests, and the namespaces they live in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from e2e.cluster.cluster import MODELS, Cluster
from e2e.cluster.programs import ROOT
from e2e.kubernetes.s3 import BUCKET, S3

Object = dict[str, Any]

MODEL = "tiny-mimo"
# Small, so that many fit on one node of two cores.
_SMALL = {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "512Mi"}}


def namespace(name: str, *, restricted: bool = False) -> Object:
    """Return a namespace; a restricted one takes no pod that asks for more than it needs."""
    level = {"pod-security.kubernetes.io/enforce": "restricted"} if restricted else {}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": level}}


def fleet(name: str, place: str, spec: Mapping[str, Any], *, cluster: Cluster, s3: S3) -> Object:
    """Return a fleet of simulators that is ready in seconds; `spec` changes it, key by key."""
    simulated: Object = {
        "target": {
            "model": MODEL,
            "source": {"hostPath": {"path": str(MODELS)}},
            "dtype": "float32",
            "maxModelLen": 512,
        },
        "drafter": {"family": "mtp", "numSpeculativeTokens": 3},
        "replicas": 1,
        "train": False,
        "serve": "Stock",
        "engine": {
            "image": cluster.image("simulator"),
            "resources": _SMALL,
            "sharedMemory": "256Mi",
            "drainSeconds": 10,
        },
        "trainer": {
            "capture": {"followRequests": 4, "maxTokens": 512, "keyTokens": 16},
            "learningRate": "0.003",
            "rowsPerStep": 128,
            "resources": {
                "requests": {"cpu": "10m", "memory": "128Mi"},
                "limits": {"memory": "1536Mi"},
            },
        },
        "aggregation": {
            "localSteps": 5,
            "leaseSeconds": 10,
            "maxRoundSeconds": 60,
            "outer": {"learningRate": "1", "momentum": "0"},
        },
        "store": {
            "s3": {
                "endpoint": s3.endpoint,
                "bucket": BUCKET,
                "credentialsSecretRef": {"name": s3.credentials(place)},
            }
        },
    }
    return {
        "apiVersion": "specfleet.dev/v1alpha1",
        "kind": "SpeculatorFleet",
        "metadata": {"name": name, "namespace": place},
        "spec": merged(simulated, spec),
    }


def demo(place: str, spec: Mapping[str, Any], *, s3: S3) -> Object:
    """Return the fleet of the local demo, with real engines; `spec` changes it, key by key.

    A cluster adds where the model and the store are.
    """
    manifest: Object = yaml.safe_load((ROOT / "examples" / "demo.yaml").read_text())
    store = {
        "endpoint": s3.endpoint,
        "bucket": BUCKET,
        "credentialsSecretRef": {"name": s3.credentials(place)},
    }
    here = {
        "target": {"source": {"hostPath": {"path": str(MODELS)}}},
        "store": {"directory": None, "s3": store},
    }
    manifest["metadata"]["namespace"] = place
    return {**manifest, "spec": merged(merged(manifest["spec"], here), spec)}


def models_volume(name: str, place: str) -> tuple[Object, Object]:
    """Return a volume with the models and a claim to it, for pods that may name no host path."""
    return _volume(name, place, {"path": str(MODELS)}, mode="ReadOnlyMany")


def cache_volume(name: str, place: str, folder: Path) -> tuple[Object, Object]:
    """Return an empty volume in a folder of the node, and a claim to it."""
    directory = {"path": str(folder), "type": "DirectoryOrCreate"}
    return _volume(name, place, directory, mode="ReadWriteMany")


def opener(claim: str, place: str, *, image: str) -> Object:
    """Return a pod that lets everybody write to a volume: a folder of the node is root's."""
    container = {
        "name": "open",
        "image": image,
        "command": ["python3", "-c", "import os; os.chmod('/volume', 0o777)"],
        "securityContext": {"runAsUser": 0},
        "volumeMounts": [{"name": "volume", "mountPath": "/volume"}],
    }
    volume = {"name": "volume", "persistentVolumeClaim": {"claimName": claim}}
    spec = {"restartPolicy": "Never", "containers": [container], "volumes": [volume]}
    metadata = {"name": f"open-{claim}", "namespace": place}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _volume(
    name: str, place: str, directory: Mapping[str, str], *, mode: str
) -> tuple[Object, Object]:
    shared = {"accessModes": [mode], "storageClassName": ""}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            **shared,
            "capacity": {"storage": "1Gi"},
            "hostPath": dict(directory),
            "claimRef": {"namespace": place, "name": name},
        },
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": place},
        "spec": {**shared, "resources": {"requests": {"storage": "1Gi"}}, "volumeName": name},
    }
    return volume, claim


def cohort_service(fleet: str, place: str, cohort: str) -> Object:
    """Return a Service of one cohort's engines; the operator makes one for all of them."""
    labels = {"specfleet.dev/fleet": fleet, "specfleet.dev/cohort": cohort}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": f"only-{cohort}", "namespace": place},
        "spec": {"selector": labels, "ports": [{"port": 8000}]},
    }


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> Object:
    """Return `base` with `changes`: objects are merged, None removes, all else replaces."""
    result = dict(base)
    for key, value in changes.items():
        if value is None:
            result.pop(key, None)
            continue
        here = result.get(key)
        deep = isinstance(here, Mapping) and isinstance(value, Mapping)
        result[key] = merged(here or {}, value) if deep else value
    return result


def condition(fleet: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """Return one condition of a fleet; an empty one when it is absent."""
    conditions: Sequence[Mapping[str, Any]] = fleet.get("status", {}).get("conditions", [])
    return next((entry for entry in conditions if entry["type"] == kind), {})
