"""Which fleets there are: kopf tells of changes at once, a list every now and then is the truth.

The list also shows whether kopf's stream is alive: what was listed before has to have been told by
the time of the next list.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

import structlog

from specfleet_operator.api import Cluster, Expired, Refused, Unreachable
from specfleet_operator.kinds import FLEET
from specfleet_operator.observed import Object
from specfleet_operator.store import FleetKey, Store, fleet_key, version_of

log = structlog.get_logger()


class Fleets:
    """Follows the fleets of some namespaces, or of all when that is (None,)."""

    def __init__(
        self,
        cluster: Cluster,
        store: Store,
        namespaces: tuple[str | None, ...],
        *,
        changed: Callable[[FleetKey], None],
        gone: Callable[[FleetKey], None],
        clock: Callable[[], float],
    ) -> None:
        self.synced = asyncio.Event()
        self._cluster = cluster
        self.store = store
        self._namespaces = namespaces
        self._changed = changed
        self._gone = gone
        self._clock = clock
        self._told: dict[FleetKey, int] = {}
        self._expected: dict[FleetKey, int] = {}
        self._confirmed_at = clock()

    def told(self, item: Object, *, deleted: bool) -> None:
        """Take what kopf tells of a fleet."""
        fleet = fleet_key(item)
        self._expected.pop(fleet, None)
        if deleted:
            self._told.pop(fleet, None)
            self.store.remove(item)
            if self.store.get(FLEET, fleet.namespace, fleet.name) is None:
                self._gone(fleet)
            return
        self._told[fleet] = max(version_of(item), self._told.get(fleet, 0))
        before = self.store.get(FLEET, fleet.namespace, fleet.name)
        self.store.put(item)
        after = self.store.get(FLEET, fleet.namespace, fleet.name)
        if after is before or after is None:
            return
        if before is not None and _uid(before) != _uid(after):
            # Another fleet of the same name: what is known is of the one that is gone.
            self._gone(fleet)
        if before is None or not _is_own_doing(before, after):
            self._changed(fleet)

    def all(self) -> tuple[FleetKey, ...]:
        """Return the fleets that are known."""
        return tuple(fleet_key(item) for item in self.store.of_kind(FLEET))

    def known(self, fleets: Iterable[FleetKey]) -> list[FleetKey]:
        """Return those of the fleets that there are."""
        return [one for one in fleets if self.store.get(FLEET, one.namespace, one.name)]

    def age_seconds(self) -> float:
        """Return how long ago kopf was last seen to have told everything."""
        return self._clock() - self._confirmed_at

    async def keep(self, seconds: float) -> None:
        """List the fleets every so often and have every one looked at."""
        while True:
            try:
                await self.list()
            except (Unreachable, Refused, Expired) as error:
                log.warning("fleets_not_listed", error=str(error))
            await asyncio.sleep(seconds)

    async def list(self) -> None:
        """List the fleets once."""
        before = {fleet_key(item): _uid(item) for item in self.store.of_kind(FLEET)}
        listed: dict[FleetKey, int] = {}
        for namespace in self._namespaces:
            listing = await self._cluster.list(FLEET, namespace)
            self.store.replace(
                FLEET, namespace, listing.items, resource_version=listing.resource_version
            )
            listed |= {fleet_key(item): version_of(item) for item in listing.items}
        if all(self._told.get(fleet, 0) >= version for fleet, version in self._expected.items()):
            self._confirmed_at = self._clock()
        self._expected = {
            fleet: version
            for fleet, version in listed.items()
            if self._told.get(fleet, 0) < version
        }
        self.synced.set()
        after = {fleet_key(item): _uid(item) for item in self.store.of_kind(FLEET)}
        for fleet, uid in before.items():
            if after.get(fleet) != uid:
                self._told.pop(fleet, None)
                self._gone(fleet)
        for fleet in after:
            self._changed(fleet)


def _uid(fleet: Object) -> str:
    return str(fleet["metadata"]["uid"])


def _is_own_doing(before: Object, after: Object) -> bool:
    """Say whether nothing changed but the status, which only the operator writes."""
    return _wishes(before) == _wishes(after)


def _wishes(fleet: Object) -> tuple[object, ...]:
    metadata = fleet["metadata"]
    return (
        metadata["uid"],
        metadata.get("generation"),
        metadata.get("deletionTimestamp"),
        metadata.get("annotations"),
        metadata.get("labels"),
    )
