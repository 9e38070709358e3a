"""An API server in memory, for tests; a contract test holds it to the real one.

Objects are merged as far as one field manager needs it: an apply sets what it says and removes what
the apply before it said. Lists are replaced whole. Nothing is validated or defaulted.
"""

from __future__ import annotations

import asyncio
import copy
import itertools
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Any

from specfleet_operator.api import (
    Change,
    ChangeType,
    Conflict,
    Ending,
    Expired,
    Listing,
    NotFound,
    Precondition,
    Refused,
    SigningKeys,
    Token,
    as_of,
)
from specfleet_operator.kinds import Kind
from specfleet_operator.merging import merged, patched
from specfleet_operator.observed import Object, ObjectKey, key_of

_Key = tuple[str, str, str]

_WITH_GENERATION = frozenset(
    ["SpeculatorFleet", "DrafterPromotion", "StatefulSet", "PodDisruptionBudget", "NetworkPolicy"]
)


@dataclass(slots=True)
class _Stored:
    item: dict[str, Any]
    applied: dict[str, Any] = field(default_factory=dict)
    applied_status: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Write:
    """A request that changed something or tried to."""

    verb: str
    key: ObjectKey
    namespace: str


class BrokenOff(BaseException):
    """Stands for the end of the process: nothing may catch it and go on."""


class FakeCluster:
    """One API server; every test has its own."""

    def __init__(self) -> None:
        self.writes: list[Write] = []
        """All requests to change something, also those that were refused or changed nothing."""
        self.refusals: dict[ObjectKey, str] = {}
        """What to refuse, and what to say."""
        self.refused_kinds: frozenset[str] = frozenset()
        """Kinds of which nothing may be written."""
        self.ending: frozenset[str] = frozenset()
        """Namespaces that are being deleted."""
        self.writes_left: int | None = None
        """After so many more writes the caller is killed, as far as it can tell: BrokenOff."""
        self.served: dict[str, frozenset[str]] = {}
        """Kinds by API version, for `kinds`."""
        self._stored: dict[_Key, _Stored] = {}
        self.version = 0
        self._uids = itertools.count(1)
        self._history: list[tuple[int, _Key, Change]] = []
        self._forgotten = 0
        self._news = asyncio.Event()
        self._streams = 0

    async def get(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """Return an object as it is now, or None."""
        stored = self._stored.get((kind.name, namespace, name))
        return None if stored is None else copy.deepcopy(stored.item)

    async def list(self, kind: Kind, namespace: str | None, *, selector: str = "") -> Listing:
        """Return all objects of a kind that the selector fits."""
        items = tuple(
            copy.deepcopy(stored.item)
            for key, stored in sorted(self._stored.items(), key=lambda entry: entry[0])
            if _is_selected(key, stored.item, kind, namespace, selector)
        )
        return Listing(items, str(self.version))

    async def watch(
        self,
        kind: Kind,
        namespace: str | None,
        *,
        since: str,
        selector: str = "",
        silence_seconds: float,
    ) -> AsyncGenerator[Change, None]:
        """Tell what changes until `end_streams`."""
        del silence_seconds  # what is in memory is never silent by accident
        if int(since) < self._forgotten:
            raise Expired(f"{kind.plural}: {since} is too old")
        seen, stream = int(since), self._streams
        while stream == self._streams:
            for version, key, change in list(self._history):
                if version > seen and _is_selected(key, change.item, kind, namespace, selector):
                    yield Change(change.type, copy.deepcopy(change.item))
            seen = max(seen, self.version)
            if stream == self._streams:
                await self._news.wait()

    async def apply(self, item: Object, *, since: Precondition | None = None) -> Object:
        """Make an object have all that `item` says, and drop what an earlier apply said."""
        key = self._begin("apply", item)
        said = {name: value for name, value in item.items() if name != "status"}
        stored = self._stored.get(key)
        if stored is None:
            if since is not None:
                raise Conflict(f"{key_of(item)}: uid is not {since.uid}: no such object")
            return self._add(key, said, applied=said)
        _check(stored.item, since, item)
        after = merged(stored.item, stored.applied, said)
        stored.applied = copy.deepcopy(said)
        return self._change(key, stored, after)

    async def apply_status(self, item: Object, *, since: Precondition | None = None) -> Object:
        """Make the status of an object what `item` says."""
        key = self._begin("apply_status", item)
        stored = self._stored.get(key)
        if stored is None:
            raise NotFound(key_of(item), "not found")
        _check(stored.item, since, item)
        said = dict(item["status"])
        status = merged(stored.item.get("status", {}), stored.applied_status, said)
        stored.applied_status = copy.deepcopy(said)
        return self._change(key, stored, stored.item | {"status": status})

    async def create(self, item: Object) -> Object:
        """Create an object; Conflict when there is one of that name."""
        key = self._begin("create", item)
        if key in self._stored:
            raise Conflict(f"{key_of(item)}: already exists")
        said = {name: value for name, value in item.items() if name != "status"}
        return self._add(key, said, applied={})

    async def replace(self, item: Object) -> Object:
        """Replace the object that `item` is a changed copy of; Conflict when it changed since."""
        key = self._begin("replace", item)
        stored = self._stored.get(key)
        if stored is None:
            raise NotFound(key_of(item), "not found")
        _check(stored.item, as_of(item), item)
        return self._change(key, stored, copy.deepcopy(dict(item)))

    async def merge(self, kind: Kind, namespace: str, name: str, changes: Object) -> Object:
        """Change some fields of an object; Conflict if `changes` names another state of it."""
        target = {
            "apiVersion": kind.api_version,
            "kind": kind.name,
            "metadata": {"namespace": namespace, "name": name},
        }
        key = self._begin("merge", target)
        stored = self._stored.get(key)
        if stored is None:
            raise NotFound(key_of(target), "not found")
        if (version := changes.get("metadata", {}).get("resourceVersion")) is not None:
            _check(stored.item, Precondition(stored.item["metadata"]["uid"], version), target)
        return self._change(key, stored, patched(stored.item, changes))

    async def delete(
        self, kind: Kind, namespace: str, name: str, precondition: Precondition
    ) -> None:
        """Delete an object unless it is gone, and with it everything that it owns."""
        target = {
            "apiVersion": kind.api_version,
            "kind": kind.name,
            "metadata": {"namespace": namespace, "name": name},
        }
        key = self._begin("delete", target)
        stored = self._stored.get(key)
        if stored is None:
            return
        _check(stored.item, precondition, target)
        self._drop(key)

    async def token(
        self, namespace: str, service_account: str, *, audience: str, seconds: int
    ) -> Token:
        """Return something that looks like a token to those who do not verify it."""
        return Token(f"{namespace}.{service_account}.{audience}", float(seconds))

    async def signing_keys(self) -> SigningKeys:
        """Return keys that verify nothing."""
        return SigningKeys("https://kubernetes.default.svc", '{"keys": []}')

    async def kinds(self, api_version: str) -> frozenset[str]:
        """Return what `served` says."""
        return self.served.get(api_version, frozenset())

    def end_streams(self) -> None:
        """End all watches, as an API server does now and then."""
        self._streams += 1
        self._wake()

    def forget_history(self) -> None:
        """Have every watch that begins before now list again."""
        self._forgotten = self.version
        self._history.clear()

    def _begin(self, verb: str, item: Object) -> _Key:
        key, metadata = key_of(item), item["metadata"]
        if self.writes_left is not None:
            if self.writes_left == 0:
                raise BrokenOff
            self.writes_left -= 1
        self.writes.append(Write(verb, key, metadata["namespace"]))
        if key in self.refusals:
            raise Refused(key, self.refusals[key])
        if key.kind in self.refused_kinds:
            raise Refused(key, "forbidden")
        return key.kind, metadata["namespace"], metadata["name"]

    def _add(self, key: _Key, item: Object, *, applied: Object) -> Object:
        if key[1] in self.ending:
            raise Ending(key_of(item), f"namespace {key[1]} is being terminated")
        new = copy.deepcopy(dict(item))
        new["metadata"] |= {"uid": f"uid-{next(self._uids)}"}
        if key[0] in _WITH_GENERATION:
            new["metadata"]["generation"] = 1
        stored = _Stored(new, applied=copy.deepcopy(dict(applied)))
        self._stored[key] = stored
        self._tell(key, "ADDED", stored.item)
        return copy.deepcopy(stored.item)

    def _change(self, key: _Key, stored: _Stored, after: dict[str, Any]) -> Object:
        if after == stored.item:
            return copy.deepcopy(stored.item)
        metadata = after["metadata"] = dict(after["metadata"])
        if key[0] in _WITH_GENERATION and _wishes(after) != _wishes(stored.item):
            metadata["generation"] = stored.item["metadata"]["generation"] + 1
        stored.item = after
        self._tell(key, "MODIFIED", stored.item)
        return copy.deepcopy(stored.item)

    def _drop(self, key: _Key) -> None:
        gone = self._stored.pop(key)
        self._tell(key, "DELETED", gone.item)
        uid = gone.item["metadata"]["uid"]
        owned = [
            other
            for other, stored in self._stored.items()
            if any(one["uid"] == uid for one in stored.item["metadata"].get("ownerReferences", ()))
        ]
        for other in owned:
            if other in self._stored:
                self._drop(other)

    def _tell(self, key: _Key, change: ChangeType, item: dict[str, Any]) -> None:
        self.version += 1
        item["metadata"]["resourceVersion"] = str(self.version)
        self._history.append((self.version, key, Change(change, copy.deepcopy(item))))
        self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


def _wishes(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name not in ("metadata", "status")}


def _check(stored: Object, since: Precondition | None, item: Object) -> None:
    if since is None:
        return
    current = as_of(stored)
    if since.uid != current.uid:
        raise Conflict(f"{key_of(item)}: uid is not {since.uid}")
    if since.resource_version not in (None, current.resource_version):
        raise Conflict(
            f"{key_of(item)}: is as of {current.resource_version}, expected "
            f"{since.resource_version}"
        )


def _is_selected(key: _Key, item: Object, kind: Kind, namespace: str | None, selector: str) -> bool:
    if key[0] != kind.name or namespace not in (None, key[1]):
        return False
    if selector.startswith("="):
        return key[2] == selector[1:]
    return not selector or selector in (item["metadata"].get("labels") or {})
