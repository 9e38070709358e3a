"""Holds Leases: the one that makes this process the leader, and those that mark namespaces.

Whether a Lease is held is asked of the monotonic clock, which goes on while the process is frozen,
and not of what a task last noticed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from specfleet_operator.api import Cluster, Conflict, NotLeading, Refused, Unreachable
from specfleet_operator.kinds import LEASE
from specfleet_operator.leases import (
    PAUSE_SHARE,
    RENEW_SHARE,
    Sighting,
    given_back,
    held,
    new_lease,
    next_step,
    sighted,
)
from specfleet_operator.observed import Object

log = structlog.get_logger()


class LostLead(Exception):
    """The Lease could not be renewed in time: somebody else may lead now."""


class LeaseHolder:
    """One candidate, called `holder`, for the Lease `name` in `namespace`."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        namespace: str,
        name: str,
        holder: str,
        lease_seconds: float,
        clock: Callable[[], float],
        wall_clock: Callable[[], float],
    ) -> None:
        self.namespace = namespace
        self.lease_seconds = lease_seconds
        self._cluster = cluster
        self._name = name
        self._holder = holder
        self._clock = clock
        self._wall_clock = wall_clock
        self._seen: Sighting | None = None
        self._renewed_at: float | None = None

    def __str__(self) -> str:
        return f"Lease {self.namespace}/{self._name}"

    def holds(self) -> bool:
        """Say whether a write that is sent now arrives while nobody else can hold the Lease."""
        if self._renewed_at is None:
            return False
        return self._clock() - self._renewed_at < self.lease_seconds * RENEW_SHARE

    async def try_to_hold(self) -> bool:
        """Take the Lease or renew it; False while it is not held, as far as can be known."""
        try:
            return await self._step()
        except (Unreachable, Conflict, NotLeading, Refused) as error:
            log.warning("lease_failed", lease=str(self), error=str(error))
            return self.holds()

    async def give_back(self) -> None:
        """Let the next one have it at once; only when nothing is written any more."""
        if not self.holds():
            return
        self._renewed_at = None
        assert self._seen is not None and self._seen.lease is not None
        try:
            await self._cluster.replace(given_back(self._seen.lease))
        except (Unreachable, Conflict, Refused) as error:
            log.warning("lease_failed", lease=str(self), error=str(error))

    async def _step(self) -> bool:
        lease = await self._cluster.get(LEASE, self.namespace, self._name)
        self._seen = sighted(self._seen, lease, self._clock())
        if next_step(self._seen, holder=self._holder, now=self._clock()) == "wait":
            self._renewed_at = None
            return False
        # What counts is when the request left: the answer may have been read much later.
        asked_at = self._clock()
        self._seen = sighted(self._seen, await self._write(lease), self._clock())
        self._renewed_at = asked_at
        return self.holds()

    async def _write(self, lease: Object | None) -> Object:
        seconds, now = self.lease_seconds, self._wall_clock()
        if lease is None:
            fresh = new_lease(
                self.namespace, self._name, holder=self._holder, seconds=seconds, wall_clock=now
            )
            return await self._cluster.create(fresh)
        return await self._cluster.replace(
            held(lease, holder=self._holder, seconds=seconds, wall_clock=now)
        )


async def lead(lease: LeaseHolder, won: asyncio.Event) -> None:
    """Wait for the Lease, set `won`, and hold it; LostLead once it is held no longer."""
    while True:
        if await lease.try_to_hold():
            if not won.is_set():
                log.info("leading", lease=str(lease))
            won.set()
        elif won.is_set():
            raise LostLead(f"{lease}: could not be renewed in time")
        await asyncio.sleep(lease.lease_seconds * PAUSE_SHARE)
