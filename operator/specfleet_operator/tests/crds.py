"""A real API server that knows both kinds, for tests of what it takes and what it says."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml

from e2e.cluster.control_plane import ControlPlane, kubectl
from tools.crds.definitions import RESOURCES, Resource, definition

CRDS = Path(__file__).parents[3] / "crds"

S3 = {"endpoint": "http://s3:9000", "bucket": "fleets", "credentialsSecretRef": {"name": "s3"}}
CLAIM = {"persistentVolumeClaim": {"claimName": "models"}}
HOST = {"hostPath": {"path": "/models"}}

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


@contextmanager
def custom_resources(plane: ControlPlane) -> Iterator[CustomResources]:
    """Install both kinds and give a client for them."""
    kubectl(plane, "apply", "-f", str(CRDS))
    names = [f"crd/{definition(resource)['metadata']['name']}" for resource in RESOURCES]
    kubectl(plane, "wait", "--for=condition=Established", "--timeout=30s", *names)
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
