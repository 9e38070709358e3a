"""Engines that download their model from a hub: a private one, over TLS, under another address.

The engines are real; so is the hub's client in their image. Only the hub is a stand-in.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.cluster.cluster import MODELS
from e2e.cluster.programs import ROOT
from e2e.cluster_traffic.driving import Load
from e2e.cluster_traffic.judging import assert_no_failures, assert_same_answers
from e2e.kubernetes import manifests
from e2e.kubernetes.fleet import ENGINE, Fleet, is_ready
from e2e.kubernetes.hub import (
    AUTHORITIES,
    AUTHORITY_FILE,
    REPOSITORY,
    REVISION,
    TOKEN,
    Hub,
    start_hub,
)
from e2e.kubernetes.traffic import traffic
from e2e.kubernetes.waiting import until
from specfleet_cli.traffic.prompts import read_documents

pytestmark = [pytest.mark.cluster, pytest.mark.long]

HINDI = read_documents(ROOT / "examples" / "text" / "hi.jsonl")
LOAD = Load(clients=3, max_tokens=48, timeout_seconds=120.0)
START_SECONDS = 400.0
NOT_DOWNLOADED = {"README.md"}
TOKEN_SECRET, ADDRESS, TRUSTED = "hub-token", "hub-address", "/hub"


@pytest.fixture
def cache(fleet: Fleet, tmp_path: Path) -> Iterator[str]:
    """Give the name of a claim to a volume of the node that any user may write."""
    name = f"cache-{fleet.namespace}"
    objects = manifests.cache_volume(name, fleet.namespace, tmp_path / "cache")
    opener = manifests.opener(name, fleet.namespace, image=fleet.cluster.image("simulator"))
    fleet.client.apply(*objects, opener)
    fleet.kubectl(
        *("wait", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s"),
        f"pod/{opener['metadata']['name']}",
    )
    yield name
    fleet.client.kubectl("delete", "persistentvolume", name, "--wait=false")


def test_engines_download_their_model_once(fleet: Fleet, cache: str) -> None:
    hub = start_hub(fleet)
    give_token(fleet, "wrong")
    demo = manifests.demo(fleet.namespace, specification(fleet, hub, cache=cache), s3=fleet.s3)
    real = Fleet(fleet.cluster, fleet.s3, fleet.namespace, demo["metadata"]["name"])

    fleet.client.apply(demo)
    refused = until(
        lambda: real.condition("Serving"),
        lambda found: "401" in found.get("message", ""),
        what="Serving=False with what the hub says",
        seconds=90,
    )
    give_token(fleet, TOKEN)
    real.wait_until_ready(seconds=START_SECONDS)
    with traffic(real, load=LOAD, documents=HINDI) as watch:
        until(real.versions, lambda found: len(found) >= 2, what="version 1", seconds=180)
        (window,) = watch.windows()
    (first,) = real.pods()
    downloaded, asked = digests(real, first["metadata"]["name"]), hub.asked()
    old = first["metadata"]["uid"]
    hub.stop()
    real.kubectl("delete", "pod", first["metadata"]["name"], "--wait=false")
    (second,) = until(
        real.pods,
        lambda pods: [one["metadata"]["uid"] for one in pods if is_ready(one)] not in ([], [old]),
        what="another engine, without the hub",
        seconds=START_SECONDS,
    )

    assert refused["status"] == "False", refused
    assert REPOSITORY in refused["message"], refused
    assert downloaded == expected_digests()
    assert {one.authorization for one in asked if one.host == hub.weights_host} == {None}
    assert_no_failures(window, minimum=20)
    assert_same_answers(window)
    assert "is there" in real.kubectl("logs", second["metadata"]["name"], "--container", "model")
    assert digests(real, second["metadata"]["name"]) == downloaded


def specification(fleet: Fleet, hub: Hub, *, cache: str) -> dict[str, Any]:
    """Return what makes the demo's fleet one engine whose model is in the hub."""
    engine = manifests.demo(fleet.namespace, {}, s3=fleet.s3)["spec"]["engine"]
    address = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"url": hub.endpoint}}
    metadata = {"name": ADDRESS, "namespace": fleet.namespace}
    fleet.client.apply({**address, "metadata": metadata})
    from_map = {"configMapKeyRef": {"name": ADDRESS, "key": "url"}}
    source = {"revision": REVISION, "tokenSecretRef": {"name": TOKEN_SECRET}}
    return {
        "target": {
            "model": REPOSITORY,
            "source": {"hostPath": None, "huggingFace": source},
        },
        "replicas": 1,
        "train": True,
        "serve": "Local",
        "cohorts": [],
        "engine": {
            "env": [
                *engine["env"],
                {"name": "HF_ENDPOINT", "valueFrom": from_map},
                {"name": "SSL_CERT_FILE", "value": f"{TRUSTED}/{AUTHORITY_FILE}"},
            ],
            "cacheVolume": {"persistentVolumeClaim": {"claimName": cache}},
            "pod": {
                "volumes": [{"name": "hub", "configMap": {"name": AUTHORITIES}}],
                "volumeMounts": [{"name": "hub", "mountPath": TRUSTED, "readOnly": True}],
            },
        },
        "networkPolicy": {"egressTo": [{"namespaceSelector": {}}]},
    }


def give_token(fleet: Fleet, token: str) -> None:
    """Write the Secret that the fleet names."""
    metadata = {"name": TOKEN_SECRET, "namespace": fleet.namespace}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
    fleet.client.apply({**secret, "stringData": {"token": token}})


def digests(fleet: Fleet, pod: str) -> dict[str, str]:
    """Return the digest of every file that an engine has of its model."""
    found: dict[str, str] = json.loads(fleet.python(pod, ENGINE, _DIGESTS, f"/models/{REPOSITORY}"))
    return found


def expected_digests() -> dict[str, str]:
    """Return those of the model as it is here, as far as engines want it."""
    folder = MODELS / manifests.MODEL
    return {
        one.name: hashlib.sha256(one.read_bytes()).hexdigest()
        for one in folder.iterdir()
        if one.is_file() and one.name not in NOT_DOWNLOADED
    }


_DIGESTS = """
import hashlib, json, pathlib, sys
files = [one for one in pathlib.Path(sys.argv[1]).iterdir() if one.is_file()]
print(json.dumps({one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in files}))
"""
