"""How the operator talks to Kubernetes. Beside it only kopf does, which may only read.

Every write asks first whether it may still be made, at each attempt. No request outlives the time
that the holder of the Lease leaves between its last chance to write and the Lease's end.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

import aiohttp

from specfleet_operator.api import (
    Change,
    Listing,
    NotFound,
    NotLeading,
    Precondition,
    SigningKeys,
    Token,
    Unreachable,
)
from specfleet_operator.failing import failure, network_failures
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
from specfleet_operator.retrying import pause_seconds

PAGE_ITEMS = 250
WATCH_SECONDS = 290
"""After this long the server ends a watch, which is then opened again where it ended."""
CONNECT_SECONDS = 5.0
RETRY_SECONDS = 15.0
"""How long a failing request is tried again before the caller hears of it."""

CountWrite = Callable[[str, str], None]
"""Gets the verb and the kind of every request that changes something."""


class KubernetesCluster:
    """The API server behind a session."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        url: str,
        *,
        request_seconds: float,
        retry_seconds: float = RETRY_SECONDS,
        may_write: Callable[[], bool],
        count_write: CountWrite,
    ) -> None:
        self._session = session
        self._url = url
        self._request_seconds = request_seconds
        self._retry_seconds = retry_seconds
        self._may_write = may_write
        self._count_write = count_write

    async def get(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """Return an object as it is now, or None."""
        key = ObjectKey(kind.api_version, kind.name, name)
        try:
            return _plain(await self._call("GET", object_path(kind, namespace, name), key))
        except NotFound:
            return None

    async def list(self, kind: Kind, namespace: str | None, *, selector: str = "") -> Listing:
        """Return all objects of a kind, page by page."""
        key = ObjectKey(kind.api_version, kind.name, "*")
        query = {"limit": str(PAGE_ITEMS)} | _selection(selector)
        items: list[Object] = []
        while True:
            page = await self._call("GET", collection_path(kind, namespace), key, query=query)
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
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=CONNECT_SECONDS, sock_read=silence_seconds
        )
        path = collection_path(kind, namespace)
        with network_failures():
            async with self._session.get(
                self._url + path, params=query, timeout=timeout
            ) as response:
                if response.status != 200:
                    raise failure(response.status, await response.text(), key)
                async for line in response.content:
                    yield _change(json.loads(line), key)

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
            await self._call(
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
        return _plain(await self._call("PUT", path, key, query=query, body=item, verb="replace"))

    async def merge(self, kind: Kind, namespace: str, name: str, changes: Object) -> Object:
        """Change some fields of an object."""
        return _plain(
            await self._call(
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
            await self._call("DELETE", path, key, body=body, verb="delete")
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
        answer = await self._call("POST", path, key, body=body)
        return Token(answer["status"]["token"], float(answer["spec"]["expirationSeconds"]))

    async def signing_keys(self) -> SigningKeys:
        """Return the issuer and the keys of the tokens of service accounts."""
        key = ObjectKey("", "OpenIDConfiguration", "cluster")
        about = await self._call("GET", "/.well-known/openid-configuration", key)
        keys = await self._call("GET", "/openid/v1/jwks", key)
        # Sorted, so that the same keys are the same text.
        ordered = sorted(keys["keys"], key=lambda one: str(one.get("kid")))
        return SigningKeys(about["issuer"], json.dumps({"keys": ordered}, sort_keys=True))

    async def kinds(self, api_version: str) -> frozenset[str]:
        """Return the names of the kinds of an API version; empty when it is not served."""
        key = ObjectKey(api_version, "APIResourceList", "*")
        try:
            answer = await self._call("GET", group_path(api_version), key)
        except NotFound:
            return frozenset()
        return frozenset(one["kind"] for one in answer["resources"] if "/" not in one["name"])

    async def _apply(self, item: Object, *, since: Precondition | None, subresource: str) -> Object:
        kind, namespace = _place(item)
        key = key_of(item)
        # With a uid an apply changes an object or nothing: it cannot bring back what was deleted.
        metadata = dict(item["metadata"]) | ({} if since is None else _meant(since))
        return _plain(
            await self._call(
                "PATCH",
                object_path(kind, namespace, key.name, subresource=subresource),
                key,
                query={"fieldManager": FIELD_MANAGER, "force": "true"},
                body=dict(item) | {"metadata": metadata},
                content_type="application/apply-patch+yaml",
                verb="apply_status" if subresource else "apply",
            )
        )

    async def _call(
        self,
        method: str,
        path: str,
        key: ObjectKey,
        *,
        query: Mapping[str, str] | None = None,
        body: Object | None = None,
        content_type: str = "application/json",
        verb: str | None = None,
    ) -> Any:
        """Make a request, again where that may help; `verb` is of one that changes something."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._retry_seconds
        num_attempts = 0
        while True:
            if verb is not None:
                if not self._may_write():
                    raise NotLeading(f"{verb} {key}: this operator does not lead")
                self._count_write(verb, key.kind)
            num_attempts += 1
            status, retry_after = None, None
            try:
                with network_failures():
                    async with self._session.request(
                        method,
                        self._url + path,
                        params=query,
                        data=None if body is None else json.dumps(body),
                        headers=None if body is None else {"Content-Type": content_type},
                        timeout=aiohttp.ClientTimeout(total=self._request_seconds),
                    ) as response:
                        text = await response.text()
                        status, retry_after = response.status, response.headers.get("Retry-After")
                if status < 300:
                    return json.loads(text)
                raise failure(status, text, key)
            except Unreachable:
                pause = pause_seconds(
                    status,
                    num_attempts=num_attempts,
                    retry_after=retry_after,
                    left_seconds=deadline - loop.time(),
                )
                if pause is None:
                    raise
            await asyncio.sleep(pause)


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
