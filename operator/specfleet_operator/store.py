"""What the informers hold: the newest known state of every object, found by the fleet it is of.

Objects come from lists, from watches and from the answers to our own writes, in any order: the
newer state wins. No I/O.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from specfleet_operator.kinds import FLEET, POD, Kind
from specfleet_operator.naming import FLEET_LABEL
from specfleet_operator.observed import Object


@dataclass(frozen=True, slots=True, order=True)
class FleetKey:
    """Names a fleet in the cluster."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


_Key = tuple[str, str, str]

MOST_DELETED = 10_000
"""So many deleted objects are remembered, for as long as late answers about them may come."""


class Store:
    """Objects by kind, namespace and name."""

    def __init__(self) -> None:
        self._items: dict[_Key, Object] = {}
        self._by_fleet: defaultdict[FleetKey, set[_Key]] = defaultdict(set)
        self._deleted: dict[_Key, int] = {}

    def get(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """Return an object, or None."""
        return self._items.get((kind.name, namespace, name))

    def of_fleet(self, fleet: FleetKey) -> tuple[Object, ...]:
        """Return everything that is labelled as the fleet's, in a fixed order."""
        return tuple(self._items[key] for key in sorted(self._by_fleet.get(fleet, ())))

    def of_kind(self, kind: Kind) -> tuple[Object, ...]:
        """Return all objects of a kind."""
        return tuple(item for key, item in sorted(self._items.items()) if key[0] == kind.name)

    def put(self, item: Object) -> frozenset[FleetKey]:
        """Remember an object unless something newer is known; return the fleets that it changes."""
        key = _key(item)
        version = version_of(item)
        known = self._items.get(key)
        if version <= self._deleted.get(key, -1):
            return frozenset()
        if known is not None and version <= version_of(known):
            return frozenset()
        item = kept(item)
        self._deleted.pop(key, None)
        return self._forget(key) | self._remember(key, item)

    def remove(self, item: Object) -> frozenset[FleetKey]:
        """Forget an object that was deleted; return the fleets that this changes."""
        key = _key(item)
        known = self._items.get(key)
        if known is not None and version_of(known) > version_of(item):
            return frozenset()
        self._deleted.pop(key, None)
        self._deleted[key] = version_of(item)
        if len(self._deleted) > MOST_DELETED:
            del self._deleted[next(iter(self._deleted))]
        return self._forget(key)

    def drop(self, kind: Kind) -> None:
        """Forget all objects of a kind that nobody follows any more."""
        for key in [key for key in self._items if key[0] == kind.name]:
            self._forget(key)

    def replace(
        self, kind: Kind, namespace: str | None, items: Iterable[Object], *, resource_version: str
    ) -> frozenset[FleetKey]:
        """Take a list for the truth as of its version; return the fleets that it changes."""
        listed = {_key(item): item for item in items}
        as_of = _number(resource_version)
        changed: frozenset[FleetKey] = frozenset()
        for key in [key for key in self._items if _covers(key, kind, namespace)]:
            if key not in listed and version_of(self._items[key]) <= as_of:
                changed |= self._forget(key)
        for key in [key for key in self._deleted if _covers(key, kind, namespace)]:
            if self._deleted[key] <= as_of:
                del self._deleted[key]
        for item in listed.values():
            changed |= self.put(item)
        return changed

    def _remember(self, key: _Key, item: Object) -> frozenset[FleetKey]:
        self._items[key] = item
        if (fleet := fleet_of(item)) is None:
            return frozenset()
        self._by_fleet[fleet].add(key)
        return frozenset({fleet})

    def _forget(self, key: _Key) -> frozenset[FleetKey]:
        item = self._items.pop(key, None)
        fleet = None if item is None else fleet_of(item)
        if fleet is None:
            return frozenset()
        self._by_fleet[fleet].discard(key)
        if not self._by_fleet[fleet]:
            del self._by_fleet[fleet]
        return frozenset({fleet})


def kept(item: Object) -> Object:
    """Return what is worth to be remembered: of a pod not its spec, the largest part of all."""
    if item["kind"] != POD.name:
        return item
    return {name: value for name, value in item.items() if name != "spec"}


def fleet_of(item: Object) -> FleetKey | None:
    """Return the fleet that an object is labelled as part of."""
    name = (item["metadata"].get("labels") or {}).get(FLEET_LABEL)
    return None if name is None else FleetKey(item["metadata"]["namespace"], name)


def version_of(item: Object) -> int:
    """Return how new an object's state is among the states of that object."""
    return _number(item["metadata"]["resourceVersion"])


def _number(resource_version: str) -> int:
    # Resource versions are decimal numbers that grow, by contract since Kubernetes 1.35.
    return int(resource_version)


def _key(item: Object) -> _Key:
    metadata = item["metadata"]
    return item["kind"], metadata["namespace"], metadata["name"]


def _covers(key: _Key, kind: Kind, namespace: str | None) -> bool:
    return key[0] == kind.name and namespace in (None, key[1])


def fleet_key(fleet: Object) -> FleetKey:
    """Return the key of a SpeculatorFleet."""
    assert fleet["kind"] == FLEET.name
    return FleetKey(fleet["metadata"]["namespace"], fleet["metadata"]["name"])
