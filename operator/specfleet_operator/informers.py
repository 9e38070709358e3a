"""Keeps the store up to date: for every kind one list, then a watch, for ever.

An informer never dies silently: a stream that says nothing is opened again, and `age_seconds` grows
while that fails, which liveness and a metric follow.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import aclosing

import structlog

from specfleet_common.back_off import back_off_seconds
from specfleet_operator.api import Change, Cluster, Expired, Refused, Unreachable
from specfleet_operator.kinds import Kind
from specfleet_operator.store import FleetKey, Store

log = structlog.get_logger()

SILENCE_SECONDS = 90.0
"""API servers send a bookmark about every minute; a stream without one for so long is dead."""
LAST_PAUSE_SECONDS = 15.0

Mark = Callable[[Iterable[FleetKey]], None]


class Informer:
    """Follows the objects of one kind in one namespace, or in all when that is None."""

    def __init__(
        self,
        cluster: Cluster,
        store: Store,
        kind: Kind,
        namespace: str | None,
        *,
        selector: str,
        mark: Mark,
        clock: Callable[[], float],
    ) -> None:
        self.kind = kind
        self.namespace = namespace
        self.synced = asyncio.Event()
        self._cluster = cluster
        self._store = store
        self._selector = selector
        self._mark = mark
        self._clock = clock
        self._heard_at = clock()

    @property
    def name(self) -> str:
        """Return what it follows."""
        return (
            self.kind.plural if self.namespace is None else f"{self.namespace}/{self.kind.plural}"
        )

    def age_seconds(self) -> float:
        """Return how long ago the API server was last heard of."""
        return self._clock() - self._heard_at

    async def run(self) -> None:
        """List and watch until cancelled."""
        since: str | None = None
        num_failures = 0
        while True:
            try:
                if since is None:
                    since = await self._list()
                stream = self._cluster.watch(
                    self.kind,
                    self.namespace,
                    since=since,
                    selector=self._selector,
                    silence_seconds=SILENCE_SECONDS,
                )
                was_silent = True
                async with aclosing(stream) as changes:
                    async for change in changes:
                        since, was_silent, num_failures = self._take(change), False, 0
                if was_silent:
                    # A stream that lasts gets bookmarks; one that never does is not opened at once.
                    raise Unreachable("the stream ended before it said anything")
            except (Unreachable, Refused, Expired) as error:
                if isinstance(error, Expired):
                    since = None
                num_failures += 1
                pause = back_off_seconds(num_failures, last_seconds=LAST_PAUSE_SECONDS)
                log.warning("stream_broken", stream=self.name, error=str(error), next_seconds=pause)
                await asyncio.sleep(pause)

    async def _list(self) -> str:
        listing = await self._cluster.list(self.kind, self.namespace, selector=self._selector)
        self._heard_at = self._clock()
        self._mark(
            self._store.replace(
                self.kind,
                self.namespace,
                listing.items,
                resource_version=listing.resource_version,
            )
        )
        self.synced.set()
        return listing.resource_version

    def _take(self, change: Change) -> str:
        self._heard_at = self._clock()
        if change.type == "DELETED":
            self._mark(self._store.remove(change.item))
        elif change.type != "BOOKMARK":
            self._mark(self._store.put(change.item))
        version: str = change.item["metadata"]["resourceVersion"]
        return version
