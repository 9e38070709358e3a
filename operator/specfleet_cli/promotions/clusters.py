"""Promotions in a Kubernetes cluster, as whoever the kubeconfig names: read, and decided about."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kubernetes.client import (
    ApiClient,
    ApiException,
    Configuration,
    CoreV1Api,
    CustomObjectsApi,
)
from kubernetes.config import ConfigException, list_kube_config_contexts, load_kube_config
from urllib3.exceptions import HTTPError

from specfleet_cli.promotions.listing import Listed
from specfleet_cli.promotions.objects import listed_object
from specfleet_cli.promotions.places import SourceError
from specfleet_common.api.cluster import fleet_from_object
from specfleet_common.api.fleet import SpeculatorFleet
from specfleet_common.api.promotion import Decision

_VERSION = {"group": "specfleet.dev", "version": "v1alpha1"}
_PROMOTIONS, _FLEETS = "drafterpromotions", "speculatorfleets"
_SECONDS = 15.0
_PAGE_ITEMS = 250


class ClusterError(SourceError):
    """The API server cannot be asked, or has said no; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Access:
    """Which cluster, which namespace, and as whom; what is None is as the kubeconfig says."""

    namespace: str | None = None
    kubeconfig: Path | None = None
    context: str | None = None


class Cluster:
    """One namespace of a cluster."""

    def __init__(self, client: ApiClient, namespace: str) -> None:
        self.namespace = namespace
        self._objects = CustomObjectsApi(client)
        self._core = CoreV1Api(client)

    def promotions(self) -> tuple[Listed, ...]:
        """Return all promotions of the namespace, the newest first."""
        found: list[Listed] = []
        rest = ""
        while True:
            page = self._call(
                self._objects.list_namespaced_custom_object,
                plural=_PROMOTIONS,
                limit=_PAGE_ITEMS,
                **({"_continue": rest} if rest else {}),
            )
            found += map(listed_object, page["items"])
            if not (rest := page["metadata"].get("continue") or ""):
                break
        return tuple(sorted(found, key=lambda one: (-one.state.started_at, one.name)))

    def decide(self, name: str, decision: Decision) -> None:
        """Write a decision into a promotion."""
        self._call(
            self._objects.patch_namespaced_custom_object,
            plural=_PROMOTIONS,
            name=name,
            body={"spec": {"decision": decision.value}},
            _content_type="application/merge-patch+json",
        )

    def fleet(self, name: str) -> SpeculatorFleet:
        """Return what the spec of a fleet says."""
        item = self._call(self._objects.get_namespaced_custom_object, plural=_FLEETS, name=name)
        try:
            return fleet_from_object(item)
        except ValueError as error:
            reasons = "; ".join(str(error).splitlines())
            raise ClusterError(f"speculatorfleet {name}: {reasons}") from error

    def secret(self, name: str) -> dict[str, bytes]:
        """Return what a Secret holds."""
        with _failures(f"secret {name} in namespace {self.namespace}"):
            secret = self._core.read_namespaced_secret(
                name, self.namespace, _request_timeout=_SECONDS
            )
        return {key: base64.b64decode(value) for key, value in (secret.data or {}).items()}

    def _call(self, method: Any, **arguments: Any) -> Any:
        what = f"{arguments['plural']} {arguments.get('name', '')}".strip()
        with _failures(f"{what} in namespace {self.namespace}"):
            return method(
                **_VERSION, namespace=self.namespace, _request_timeout=_SECONDS, **arguments
            )


@contextmanager
def connected(access: Access) -> Iterator[Cluster]:
    """Give the cluster that a kubeconfig names; nothing is asked of it yet."""
    file = None if access.kubeconfig is None else str(access.kubeconfig)
    try:
        contexts, active = list_kube_config_contexts(file)  # type: ignore[no-untyped-call]
        configuration = Configuration()
        load_kube_config(file, access.context, configuration)  # type: ignore[no-untyped-call]
    except (ConfigException, OSError) as error:
        raise ClusterError(f"kubeconfig: {error}") from error
    chosen = next((one for one in contexts if one["name"] == access.context), active)
    namespace = access.namespace or chosen["context"].get("namespace") or "default"
    configuration.retries = False
    with ApiClient(configuration) as client:
        yield Cluster(client, namespace)


@contextmanager
def _failures(what: str) -> Iterator[None]:
    try:
        yield
    except ApiException as error:
        raise ClusterError(f"{what}: {_message(error)}") from error
    except (HTTPError, OSError) as error:
        raise ClusterError(f"{what}: the API server cannot be reached: {error}") from error


def _message(error: ApiException) -> str:
    """Return what the API server said."""
    try:
        return str(json.loads(error.body or "")["message"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP {error.status} {error.reason}"
