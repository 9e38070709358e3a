"""A real API server that knows both kinds, for tests of what it takes and what it says."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml

from e2e.cluster.commands import CommandFailed
from e2e.cluster.control_plane import ControlPlane
from specfleet_common.api.cluster import cluster_refusals
from specfleet_common.api.fleet import SpeculatorFleet
from tools.crds.definitions import RESOURCES, Resource, definition

CRDS = Path(__file__).parents[3] / "crds"
SECONDS = 60.0

S3 = {"endpoint": "http://s3:9000", "bucket": "fleets", "credentialsSecretRef": {"name": "s3"}}
CLAIM = {"persistentVolumeClaim": {"claimName": "models"}}
HOST = {"hostPath": {"path": "/models"}}
HUB = {"huggingFace": {"revision": "0123456789abcdef0123456789abcdef01234567"}}

_PATHS = {resource.kind: resource.plural for resource in RESOURCES}


@dataclass(frozen=True, slots=True)
class CustomResources:
    """The API of both kinds, as an administrator; refusals are returned, not raised."""

    plane: ControlPlane
    client: httpx.Client

    def refusal(self, document: Mapping[str, Any]) -> str | None:
        """Say why the server would not create an object, or None when it would."""
        parameters = {"dryRun": "All", "fieldValidation": "Strict"}
        return _refusal(self.client.post(_path(document), params=parameters, json=document))

    def create(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Create an object and return it as it is kept."""
        answer = self.client.post(_path(document), json=document)
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def change_refusal(self, document: Mapping[str, Any], change: Mapping[str, Any]) -> str | None:
        """Say why the server would not merge `change` into an object, or None when it did."""
        return _refusal(self._patch(_path(document, of_object=True), change))

    def write_status(self, document: Mapping[str, Any], status: Mapping[str, Any]) -> Any:
        """Write the status of an object and return what is kept of it."""
        path = _path(document, of_object=True) + "/status"
        answer = self._patch(path, {"status": status})
        assert answer.status_code == 200, answer.text
        return answer.json()["status"]

    def _patch(self, path: str, change: Mapping[str, Any]) -> httpx.Response:
        headers = {"Content-Type": "application/merge-patch+json"}
        return self.client.patch(path, headers=headers, json=change)


def define(plane: ControlPlane) -> None:
    """Install the definitions of both kinds and wait until they are served."""
    plane.client.kubectl("apply", "-f", str(CRDS))
    expected = {resource.plural for resource in RESOURCES}
    deadline = time.monotonic() + SECONDS
    while not expected <= _served(plane):
        assert time.monotonic() < deadline, f"{', '.join(expected)}: not served in time"
        time.sleep(0.1)


def _served(plane: ControlPlane) -> set[str]:
    try:
        answer = plane.client.kubectl("get", "--raw", "/apis/specfleet.dev/v1alpha1")
    except CommandFailed:
        return set()
    return {one["name"] for one in json.loads(answer)["resources"]}


@contextmanager
def custom_resources(plane: ControlPlane) -> Iterator[CustomResources]:
    """Give a client for both kinds."""
    (user,) = yaml.safe_load(plane.kubeconfig.read_text(encoding="utf-8"))["users"]
    headers = {"Authorization": f"Bearer {user['user']['token']}"}
    trust = ssl.create_default_context(cafile=str(plane.certificate))
    with httpx.Client(base_url=plane.url, headers=headers, verify=trust, timeout=30) as client:
        yield CustomResources(plane, client)


def conditions(api: CustomResources, resource: Resource) -> dict[str, str]:
    """Return the conditions of a kind's definition."""
    name = definition(resource)["metadata"]["name"]
    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"
    found = api.client.get(path).json()["status"]["conditions"]
    return {condition["type"]: condition["status"] for condition in found}


def _path(document: Mapping[str, Any], *, of_object: bool = False) -> str:
    metadata = document["metadata"]
    namespace = metadata.get("namespace", "default")
    plural = _PATHS.get(document["kind"], "speculatorfleets")
    path = f"/apis/specfleet.dev/v1alpha1/namespaces/{namespace}/{plural}"
    return f"{path}/{metadata['name']}" if of_object else path


def _refusal(answer: httpx.Response) -> str | None:
    if answer.is_success:
        return None
    assert answer.status_code in (400, 422), answer.text
    return str(answer.json()["message"])


def as_written(document: dict[str, Any]) -> SpeculatorFleet:
    """Return the fleet of a manifest for a cluster; ValueError for what is not one.

    What the operator reads is less strict: it passes over fields that it does not know.
    """
    fleet = SpeculatorFleet.model_validate_json(json.dumps(document))
    if refusals := cluster_refusals(fleet):
        raise ValueError("\n".join(refusals))
    return fleet
