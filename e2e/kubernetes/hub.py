"""A hub of models inside the cluster: the small model, for those who know its token."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e import hub_server
from e2e.cluster.client import Client
from e2e.cluster.cluster import MODELS
from e2e.hub_server import Asked
from e2e.kubernetes.fleet import Fleet
from e2e.kubernetes.manifests import MODEL
from e2e.kubernetes.waiting import until
from specfleet_operator.tests.issuing import authority, certificate, encoded

REPOSITORY, REVISION = f"team/{MODEL}", "0123456789abcdef0123456789abcdef01234567"
TOKEN = "not-a-secret"
AUTHORITIES, AUTHORITY_FILE = "hub-authorities", "ca.crt"
"""The ConfigMap, and its key, with the authority that has certified the hub."""

_HUB, _WEIGHTS, _SECRET = "hub", "weights", "hub-itself"


@dataclass(frozen=True, slots=True)
class Hub:
    """The hub, in the namespace of a fleet."""

    client: Client
    namespace: str

    @property
    def endpoint(self) -> str:
        """Return the URL for pods."""
        return f"https://{self.host}"

    @property
    def host(self) -> str:
        """Return the name of the hub, by which it is certified."""
        return f"{_HUB}.{self.namespace}.svc"

    @property
    def weights_host(self) -> str:
        """Return the name under which it has weights."""
        return f"{_WEIGHTS}.{self.namespace}.svc"

    def asked(self) -> list[Asked]:
        """Return all requests."""
        printed = self._kubectl("logs", f"deployment/{_HUB}", "--tail=-1")
        return [Asked(**json.loads(line)) for line in printed.splitlines()]

    def stop(self) -> None:
        """Be gone, and return when nobody answers any more."""
        self._kubectl("scale", f"deployment/{_HUB}", "--replicas=0")
        until(
            lambda: self.client.get("-n", self.namespace, "pods", "-l", f"app={_HUB}")["items"],
            lambda pods: not pods,
            what="no hub",
            seconds=60,
        )

    def start(self, image: str) -> None:
        """Serve."""
        names = (self.host, self.weights_host)
        root = authority("hub")
        shown = certificate(root, names=names)
        self.client.apply(
            self._object("v1", "ConfigMap", AUTHORITIES, data={AUTHORITY_FILE: root.pem}),
            self._object(
                *("v1", "Secret", _SECRET),
                data=encoded({"tls.crt": shown.pem, "tls.key": shown.key_pem, "token": TOKEN}),
            ),
            self._deployment(image),
            *(self._service(name) for name in (_HUB, _WEIGHTS)),
        )
        self._kubectl("rollout", "status", f"deployment/{_HUB}", "--timeout=60s")

    def _deployment(self, image: str) -> dict[str, Any]:
        labels = {"app": _HUB}
        script = Path(hub_server.__file__).read_text()
        arguments = ["/model", REPOSITORY, REVISION, f"https://{self.weights_host}", "/tls"]
        token = {"secretKeyRef": {"name": _SECRET, "key": "token"}}
        container = {
            "name": _HUB,
            "image": image,
            "command": ["python3", "-c", script, *arguments],
            "env": [{"name": hub_server.TOKEN_VARIABLE, "valueFrom": token}],
            "readinessProbe": {"tcpSocket": {"port": hub_server.PORT}, "periodSeconds": 1},
            "volumeMounts": [
                {"name": "model", "mountPath": "/model", "readOnly": True},
                {"name": "tls", "mountPath": "/tls", "readOnly": True},
            ],
        }
        pod = {
            "terminationGracePeriodSeconds": 1,
            "containers": [container],
            "volumes": [
                {"name": "model", "hostPath": {"path": str(MODELS / MODEL), "type": "Directory"}},
                {"name": "tls", "secret": {"secretName": _SECRET}},
            ],
        }
        template = {"metadata": {"labels": labels}, "spec": pod}
        selector = {"matchLabels": labels}
        spec = {"replicas": 1, "selector": selector, "template": template}
        return self._object("apps/v1", "Deployment", _HUB, spec=spec)

    def _service(self, name: str) -> dict[str, Any]:
        ports = [{"port": 443, "targetPort": hub_server.PORT}]
        return self._object("v1", "Service", name, spec={"selector": {"app": _HUB}, "ports": ports})

    def _object(self, version: str, kind: str, name: str, **body: Any) -> dict[str, Any]:
        metadata = {"name": name, "namespace": self.namespace}
        return {"apiVersion": version, "kind": kind, "metadata": metadata, **body}

    def _kubectl(self, *arguments: str) -> str:
        return self.client.kubectl("--namespace", self.namespace, *arguments)


def start_hub(fleet: Fleet) -> Hub:
    """Start a hub beside a fleet."""
    hub = Hub(fleet.client, fleet.namespace)
    hub.start(fleet.cluster.image("simulator"))
    return hub
