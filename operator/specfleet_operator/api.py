"""What the operator needs of a Kubernetes API server, and how that can fail.

`cluster` does it over the network, `testing` in memory; everything else knows only this.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from specfleet_operator.kinds import Kind
from specfleet_operator.observed import Object, ObjectKey

ChangeType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]


class Unreachable(Exception):
    """The API server did not answer, or is busy; the same call may succeed later."""


class Refused(Exception):
    """The API server will not take `key` as it is; `message` is what it said."""

    def __init__(self, key: ObjectKey, message: str) -> None:
        super().__init__(f"{key}: {message}")
        self.key = key
        self.message = message


class NotFound(Refused):
    """The object, its namespace or its kind is not there."""


class Ending(Refused):
    """The namespace of the object is being deleted, and with it everything that is there."""


class Conflict(Exception):
    """Somebody changed the object since it was looked at; look again."""


class Expired(Exception):
    """The API server no longer knows what changed since then; list again."""


class NotLeading(Exception):
    """This operator may not write, so it did not."""


@dataclass(frozen=True, slots=True)
class Listing:
    """All objects of a kind at one moment, which `resource_version` names."""

    items: tuple[Object, ...]
    resource_version: str


@dataclass(frozen=True, slots=True)
class Change:
    """What a watch tells; a bookmark's object has a resource version and nothing else."""

    type: ChangeType
    item: Object


@dataclass(frozen=True, slots=True)
class Precondition:
    """The object that is meant, so that a late call cannot hit its successor or a newer state."""

    uid: str
    resource_version: str | None = None
    """None when the object may have changed since."""


def as_of(item: Object) -> Precondition:
    """Return the precondition that an object is still as it is here."""
    return Precondition(item["metadata"]["uid"], item["metadata"]["resourceVersion"])


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token, and how long it is good for from when it was asked for."""

    value: str
    lifetime_seconds: float


@dataclass(frozen=True, slots=True)
class SigningKeys:
    """Who issues the tokens of service accounts, and the keys that verify them (JSON)."""

    issuer: str
    jwks: str


class Cluster(Protocol):
    """An API server. Objects come without metadata.managedFields, which nobody here reads."""

    async def get(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """Return an object as it is now, or None."""

    async def list(self, kind: Kind, namespace: str | None, *, selector: str = "") -> Listing:
        """Return all objects of a kind, in all namespaces when that is None."""

    def watch(
        self,
        kind: Kind,
        namespace: str | None,
        *,
        since: str,
        selector: str = "",
        silence_seconds: float,
    ) -> AsyncGenerator[Change, None]:
        """Tell what changes until the server ends it, or says nothing for too long."""

    async def apply(self, item: Object, *, since: Precondition | None = None) -> Object:
        """Make an object have all that `item` says; Conflict if it is no longer as of `since`."""

    async def apply_status(self, item: Object, *, since: Precondition | None = None) -> Object:
        """Make the status of an object what `item` says; Conflict as for `apply`."""

    async def create(self, item: Object) -> Object:
        """Create an object; Conflict when there is one of that name."""

    async def replace(self, item: Object) -> Object:
        """Replace the object that `item` is a changed copy of; Conflict when it changed since."""

    async def merge(self, kind: Kind, namespace: str, name: str, changes: Object) -> Object:
        """Change some fields of an object (JSON merge patch)."""

    async def delete(
        self, kind: Kind, namespace: str, name: str, precondition: Precondition
    ) -> None:
        """Delete an object unless it is gone; Conflict when it is not the one that is meant."""

    async def token(
        self, namespace: str, service_account: str, *, audience: str, seconds: int
    ) -> Token:
        """Return a new token of a service account."""

    async def signing_keys(self) -> SigningKeys:
        """Return what is needed to verify tokens of service accounts without asking anybody."""

    async def kinds(self, api_version: str) -> frozenset[str]:
        """Return the names of the kinds of an API version; empty when it is not served."""


def annotations_patch(item: Object, annotations: Mapping[str, str]) -> Object:
    """Return the merge patch that sets annotations; Conflict if the object is no longer so."""
    version = item["metadata"]["resourceVersion"]
    return {"metadata": {"resourceVersion": version, "annotations": dict(annotations)}}
