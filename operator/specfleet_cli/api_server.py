"""Asks an API server, as whoever the kubeconfig names. Objects are what their JSON says."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kubernetes.client import ApiClient, ApiException, Configuration, CoreV1Api, CustomObjectsApi
from kubernetes.config import ConfigException, list_kube_config_contexts, load_kube_config
from urllib3.exceptions import HTTPError

from specfleet_cli.access import Access, ClusterError, NotThere

Json = dict[str, Any]

VERSION = "specfleet.dev/v1alpha1"
FLEETS, PROMOTIONS = "speculatorfleets", "drafterpromotions"

_SECONDS = 15.0
_PAGE_ITEMS = 250
_CORE = {
    "configmaps": "list_namespaced_config_map",
    "pods": "list_namespaced_pod",
    "serviceaccounts": "list_namespaced_service_account",
    "services": "list_namespaced_service",
}


class ApiServer:
    """One namespace of a cluster."""

    def __init__(self, client: ApiClient, namespace: str) -> None:
        self._client = client
        self.namespace = namespace
        self._objects = CustomObjectsApi(client)
        self._core = CoreV1Api(client)

    def of(self, namespace: str) -> ApiServer:
        """Return another namespace of the same cluster."""
        return ApiServer(self._client, namespace)

    def get(self, api_version: str, plural: str, name: str) -> Json:
        """Return an object of a group; NotThere when there is none."""
        return self._ask(self._objects.get_namespaced_custom_object, api_version, plural, name)

    def items(self, api_version: str, plural: str, *, selector: str = "") -> list[Json]:
        """Return all objects of a kind in the namespace."""
        where = {"namespace": self.namespace}
        if "/" not in api_version:
            return self._pages(getattr(self._core, _CORE[plural]), plural, selector, **where)
        method = self._objects.list_namespaced_custom_object
        return self._pages(method, plural, selector, **where, **_group(api_version), plural=plural)

    def items_everywhere(self, api_version: str, plural: str, *, selector: str) -> list[Json]:
        """Return all objects of a kind of a group in all namespaces."""
        method = self._objects.list_cluster_custom_object
        return self._pages(method, plural, selector, **_group(api_version), plural=plural)

    def would_be(self, item: Json, plural: str, *, manager: str) -> Json:
        """Return what would be created; nothing is."""
        return self._ask(
            self._objects.create_namespaced_custom_object,
            item["apiVersion"],
            plural,
            None,
            body=item,
            dry_run="All",
            field_manager=manager,
        )

    def would_become(
        self, item: Json, plural: str, *, content_type: str, manager: str, **options: Any
    ) -> Json:
        """Return what a patch would make of an object that is there; nothing is changed."""
        return self._ask(
            self._objects.patch_namespaced_custom_object,
            item["apiVersion"],
            plural,
            item["metadata"]["name"],
            body=item,
            dry_run="All",
            field_manager=manager,
            _content_type=content_type,
            **options,
        )

    def patch(self, api_version: str, plural: str, name: str, changes: Json) -> None:
        """Change some fields of an object (JSON merge patch)."""
        self._ask(
            self._objects.patch_namespaced_custom_object,
            api_version,
            plural,
            name,
            body=changes,
            _content_type="application/merge-patch+json",
        )

    def secret(self, name: str) -> dict[str, bytes]:
        """Return what a Secret holds."""
        with _failures(f"secret {name} in namespace {self.namespace}"):
            secret = self._core.read_namespaced_secret(
                name, self.namespace, _request_timeout=_SECONDS
            )
        return {key: base64.b64decode(value) for key, value in (secret.data or {}).items()}

    def _ask(
        self, method: Any, api_version: str, plural: str, name: str | None, **arguments: Any
    ) -> Json:
        named = {} if name is None else {"name": name}
        shown = name or arguments["body"]["metadata"]["name"]
        with _failures(f"{plural} {shown} in namespace {self.namespace}"):
            found: Json = method(
                **_group(api_version),
                **named,
                **arguments,
                namespace=self.namespace,
                plural=plural,
                _request_timeout=_SECONDS,
            )
        return found

    def _pages(self, method: Any, what: str, selector: str, **arguments: Any) -> list[Json]:
        place = arguments.get("namespace")
        where = "all namespaces" if place is None else f"namespace {place}"
        plain: Any = self._client.sanitize_for_serialization
        found: list[Json] = []
        rest = ""
        while True:
            with _failures(f"{what} in {where}"):
                page = plain(
                    method(
                        **arguments,
                        label_selector=selector,
                        limit=_PAGE_ITEMS,
                        _request_timeout=_SECONDS,
                        **({"_continue": rest} if rest else {}),
                    )
                )
            found += page["items"]
            if not (rest := page["metadata"].get("continue") or ""):
                return found


@contextmanager
def connected(access: Access) -> Iterator[ApiServer]:
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
        yield ApiServer(client, namespace)


@contextmanager
def _failures(what: str) -> Iterator[None]:
    """Turn what goes wrong with a request into a ClusterError about `what`."""
    try:
        yield
    except ApiException as error:
        kind = NotThere if error.status == 404 else ClusterError
        raise kind(f"{what}: {_message(error)}") from error
    except (HTTPError, OSError) as error:
        raise ClusterError(f"{what}: the API server cannot be reached: {error}") from error


def _group(api_version: str) -> dict[str, str]:
    group, _, version = api_version.partition("/")
    return {"group": group, "version": version}


def _message(error: ApiException) -> str:
    """Return what the API server said."""
    try:
        return str(json.loads(error.body or "")["message"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP {error.status} {error.reason}"
