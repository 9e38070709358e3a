"""How the operator talks to Kubernetes. Beside it only kopf does, which may only read."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from specfleet_operator.api import (
    Change,
    Listing,
    NotFound,
    Precondition,
    SigningKeys,
    Token,
)
from specfleet_operator.calling import Caller
from specfleet_operator.failing import failure
from specfleet_operator.kinds import (
    SERVICE_ACCOUNT,
    Kind,
    collection_path,
    group_path,
    kind_of,
    object_path,
)
from specfleet_operator.naming import FIELD_MANAGER
from specfleet_operator.observed import Object, ObjectKey, key_of

PAGE_ITEMS = 250
WATCH_SECONDS = 290
"""After this long the server ends a watch, which is then opened again where it ended."""


class KubernetesCluster:
    """The API server that `caller` makes requests to."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def get(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """Return an object as it is now, or None."""
        key = ObjectKey(kind.api_version, kind.name, name)
        try:
            return _plain(await self._caller.call("GET", object_path(kind, namespace, name), key))
        except NotFound:
            return None

    async def list(self, kind: Kind, namespace: str | None, *, selector: str = "") -> Listing:
        """Return all objects of a kind, page by page."""
        key = ObjectKey(kind.api_version, kind.name, "*")
        query = {"limit": str(PAGE_ITEMS)} | _selection(selector)
        items: list[Object] = []
        while True:
            page = await self._caller.call(
                "GET", collection_path(kind, namespace), key, query=query
            )
            stamp = {"apiVersion": kind.api_version, "kind": kind.name}
            items += [_plain(stamp | item) for item in page["items"]]
            if not (rest := page["metadata"].get("continue")):
                return Listing(tuple(items), page["metadata"]["resourceVersion"])
            query["continue"] = rest

    async def watch(
        self,
        kind: Kind,
        namespace: str | None,
        *,
        since: str,
        selector: str = "",
        silence_seconds: float,
    ) -> AsyncGenerator[Change, None]:
        """Tell what changes; Unreachable also when not even a bookmark comes for too long."""
        key = ObjectKey(kind.api_version, kind.name, "*")
        query = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": since,
            "timeoutSeconds": str(WATCH_SECONDS),
        } | _selection(selector)
        path = collection_path(kind, namespace)
        stream = self._caller.stream(path, key, query, silence_seconds=silence_seconds)
        async with aclosing(stream) as events:
            async for event in events:
                yield _change(event, key)

    async def apply(self, item: Object, *, since: Precondition | None = None) -> Object:
        """Make an object have all that `item` says, and drop what an earlier apply said."""
        return await self._apply(item, since=since, subresource="")

    async def apply_status(self, item: Object, *, since: Precondition | None = None) -> Object:
        """Make the status of an object what `item` says."""
        return await self._apply(item, since=since, subresource="status")

    async def create(self, item: Object) -> Object:
        """Create an object; Conflict when there is one of that name."""
        kind, namespace = _place(item)
        return _plain(
            await self._caller.call(
                "POST",
                collection_path(kind, namespace),
                key_of(item),
                query={"fieldManager": FIELD_MANAGER},
                body=item,
                verb="create",
            )
        )

    async def replace(self, item: Object) -> Object:
        """Replace the object that `item` is a changed copy of; Conflict when it changed since."""
        kind, namespace = _place(item)
        key = key_of(item)
        path = object_path(kind, namespace, key.name)
        query = {"fieldManager": FIELD_MANAGER}
        return _plain(
            await self._caller.call("PUT", path, key, query=query, body=item, verb="replace")
        )

    async def merge(self, kind: Kind, namespace: str, name: str, changes: Object) -> Object:
        """Change some fields of an object."""
        return _plain(
            await self._caller.call(
                "PATCH",
                object_path(kind, namespace, name),
                ObjectKey(kind.api_version, kind.name, name),
                query={"fieldManager": FIELD_MANAGER},
                body=changes,
                content_type="application/merge-patch+json",
                verb="merge",
            )
        )

    async def delete(
        self, kind: Kind, namespace: str, name: str, precondition: Precondition
    ) -> None:
        """Delete an object unless it is gone, and in the background what it owns."""
        key = ObjectKey(kind.api_version, kind.name, name)
        body = {"preconditions": _meant(precondition), "propagationPolicy": "Background"}
        path = object_path(kind, namespace, name)
        try:
            await self._caller.call("DELETE", path, key, body=body, verb="delete")
        except NotFound:
            return

    async def token(
        self, namespace: str, service_account: str, *, audience: str, seconds: int
    ) -> Token:
        """Return a new token of a service account; it is stored nowhere, so anyone may ask."""
        key = ObjectKey(SERVICE_ACCOUNT.api_version, SERVICE_ACCOUNT.name, service_account)
        path = object_path(SERVICE_ACCOUNT, namespace, service_account, subresource="token")
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"audiences": [audience], "expirationSeconds": seconds},
        }
        answer = await self._caller.call("POST", path, key, body=body)
        return Token(answer["status"]["token"], float(answer["spec"]["expirationSeconds"]))

    async def signing_keys(self) -> SigningKeys:
        """Return the issuer and the keys of the tokens of service accounts."""
        key = ObjectKey("", "OpenIDConfiguration", "cluster")
        about = await self._caller.call("GET", "/.well-known/openid-configuration", key)
        keys = await self._caller.call("GET", "/openid/v1/jwks", key)
        # Sorted, so that the same keys are the same text.
        ordered = sorted(keys["keys"], key=lambda one: str(one.get("kid")))
        return SigningKeys(about["issuer"], json.dumps({"keys": ordered}, sort_keys=True))

    async def kinds(self, api_version: str) -> frozenset[str]:
        """Return the names of the kinds of an API version; empty when it is not served."""
        key = ObjectKey(api_version, "APIResourceList", "*")
        try:
            answer = await self._caller.call("GET", group_path(api_version), key)
        except NotFound:
            return frozenset()
        return frozenset(one["kind"] for one in answer["resources"] if "/" not in one["name"])

    async def _apply(self, item: Object, *, since: Precondition | None, subresource: str) -> Object:
        kind, namespace = _place(item)
        key = key_of(item)
        # With a uid an apply changes an object or nothing: it cannot bring back what was deleted.
        metadata = dict(item["metadata"]) | ({} if since is None else _meant(since))
        return _plain(
            await self._caller.call(
                "PATCH",
                object_path(kind, namespace, key.name, subresource=subresource),
                key,
                query={"fieldManager": FIELD_MANAGER, "force": "true"},
                body=dict(item) | {"metadata": metadata},
                content_type="application/apply-patch+yaml",
                verb="apply_status" if subresource else "apply",
            )
        )


def _change(event: Any, key: ObjectKey) -> Change:
    item = event["object"]
    if event["type"] == "ERROR":
        raise failure(item.get("code", 500), json.dumps(item), key)
    return Change(event["type"], _plain(item))


def _plain(item: Any) -> Object:
    """Return an object without who owns which field, which is as large as the object itself."""
    item["metadata"].pop("managedFields", None)
    result: Object = item
    return result


def _meant(precondition: Precondition) -> dict[str, str]:
    uid, version = precondition.uid, precondition.resource_version
    return {"uid": uid} if version is None else {"uid": uid, "resourceVersion": version}


def _place(item: Object) -> tuple[Kind, str]:
    return kind_of(item["apiVersion"], item["kind"]), item["metadata"]["namespace"]


def _selection(selector: str) -> dict[str, str]:
    """Return the query for a label selector, or for one name written as `=name`."""
    if selector.startswith("="):
        return {"fieldSelector": f"metadata.name={selector[1:]}"}
    return {"labelSelector": selector} if selector else {}
