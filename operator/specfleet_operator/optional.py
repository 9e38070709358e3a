"""Follows children of kinds that other projects define, for as long as these are defined."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from specfleet_operator.api import Cluster, Refused, Unreachable
from specfleet_operator.informers import Informer
from specfleet_operator.kinds import OPTIONAL_CHILDREN, Kind
from specfleet_operator.store import Store

log = structlog.get_logger()


class OptionalChildren:
    """The informers of such kinds; `informers` makes those of one kind, for all namespaces.

    `store` is what they fill.
    """

    def __init__(
        self,
        cluster: Cluster,
        store: Store,
        informers: Callable[[Kind], list[Informer]],
        *,
        changed: Callable[[], None],
    ) -> None:
        self._cluster = cluster
        self._store = store
        self._informers = informers
        self._changed = changed
        self._followed: dict[Kind, list[Informer]] = {}
        self._tasks: dict[Kind, list[asyncio.Task[None]]] = {}

    def names(self) -> frozenset[str]:
        """Return the kinds of which all objects are known."""
        return frozenset(
            kind.name
            for kind, informers in self._followed.items()
            if all(informer.synced.is_set() for informer in informers)
        )

    async def keep(self, seconds: float) -> None:
        """Notice every so often which kinds are defined, for ever."""
        try:
            while True:
                for kind in OPTIONAL_CHILDREN:
                    await self._look(kind)
                    self._notice_failures(kind)
                await asyncio.sleep(seconds)
        finally:
            for kind in list(self._tasks):
                self._end(kind)

    async def _look(self, kind: Kind) -> None:
        try:
            is_defined = kind.name in await self._cluster.kinds(kind.api_version)
        except (Unreachable, Refused) as error:
            log.warning("kinds_unknown", api_version=kind.api_version, error=str(error))
            return
        if is_defined and kind not in self._followed:
            self._followed[kind] = self._informers(kind)
            self._tasks[kind] = [asyncio.create_task(one.run()) for one in self._followed[kind]]
            self._tasks[kind].append(asyncio.create_task(self._tell_once_synced(kind)))
        elif not is_defined and kind in self._followed:
            self._end(kind)
            self._changed()

    def _notice_failures(self, kind: Kind) -> None:
        for task in self._tasks.get(kind, ()):
            if task.done():
                task.result()  # raises what nobody foresaw

    async def _tell_once_synced(self, kind: Kind) -> None:
        for informer in self._followed[kind]:
            await informer.synced.wait()
        self._changed()

    def _end(self, kind: Kind) -> None:
        for task in self._tasks.pop(kind):
            task.cancel()
        del self._followed[kind]
        self._store.drop(kind)
