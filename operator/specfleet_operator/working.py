"""One task per fleet: something changed, so look, decide and act; then wait for the next change.

Changes while a fleet is worked on make one more pass, however many they are. A pass that fails is
counted, told and tried again, with a pause that grows; nothing here ever ends a fleet's task.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

import structlog

from specfleet_common.back_off import back_off_seconds
from specfleet_operator.api import Conflict, NotLeading, Unreachable
from specfleet_operator.store import FleetKey
from specfleet_operator.telemetry import Instruments

log = structlog.get_logger()

LAST_PAUSE_SECONDS = 60.0
LAST_AWAY_SECONDS = 10.0
"""As `LAST_PAUSE_SECONDS`, for a pass that failed because the API server was away, or that decided
on an old state: the new one should arrive soon, and then a pass is made at once."""
GATHER_SECONDS = 0.05
"""Changes that come together are looked at together."""
PASSES_AT_ONCE = 8

Pass = Callable[[FleetKey], Awaitable[float | None]]
"""Works on a fleet once; returns after how many seconds to do it again anyway, if at all."""


@dataclass(slots=True)
class _Work:
    dirty: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    dirty_since: float | None = None


class Work:
    """The fleets that are worked on. Marks are remembered before `start` and acted on after it."""

    def __init__(
        self,
        one_pass: Pass,
        *,
        failed: Callable[[FleetKey, Exception], Awaitable[None]],
        instruments: Instruments,
        clock: Callable[[], float],
    ) -> None:
        self._one_pass = one_pass
        self._failed = failed
        self._instruments = instruments
        self._clock = clock
        self._fleets: dict[FleetKey, _Work] = {}
        self._started = False
        self._slots = asyncio.Semaphore(PASSES_AT_ONCE)

    def mark(self, fleets: Iterable[FleetKey]) -> None:
        """Have fleets looked at soon."""
        for fleet in fleets:
            work = self._fleets.get(fleet)
            if work is None:
                work = self._fleets[fleet] = _Work()
            if not work.dirty.is_set():
                work.dirty_since = self._clock()
                work.dirty.set()
            if self._started:
                self._start(fleet, work)
        self._show()

    def start(self) -> None:
        """Begin to work on what is marked."""
        self._started = True
        for fleet, work in self._fleets.items():
            if work.dirty_since is not None:
                # Until now nobody was to work on it, so that nothing has waited.
                work.dirty_since = self._clock()
            self._start(fleet, work)

    def forget(self, fleet: FleetKey) -> None:
        """End work on a fleet that is gone."""
        work = self._fleets.pop(fleet, None)
        if work is not None and work.task is not None:
            work.task.cancel()
        self._show()

    def oldest_seconds(self) -> float:
        """Return for how long the fleet that has waited longest has waited for a pass to begin."""
        waiting = [work.dirty_since for work in self._fleets.values() if work.dirty_since]
        return self._clock() - min(waiting) if waiting else 0.0

    async def stop(self) -> None:
        """Break all work off."""
        tasks = [work.task for work in self._fleets.values() if work.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self, fleet: FleetKey, work: _Work) -> None:
        if work.task is None:
            work.task = asyncio.create_task(self._keep(fleet, work), name=f"fleet {fleet}")

    async def _keep(self, fleet: FleetKey, work: _Work) -> None:
        num_failures, num_conflicts = 0, 0
        again: float | None = None
        while True:
            await _first(work.dirty, again)
            await asyncio.sleep(GATHER_SECONDS)
            async with self._slots:
                work.dirty.clear()
                work.dirty_since = None
                self._show()
                began_at = self._clock()
                try:
                    again = await self._one_pass(fleet)
                except Conflict as error:
                    log.info("fleet_changed_meanwhile", fleet=str(fleet), error=str(error))
                    num_conflicts += 1
                    again = back_off_seconds(num_conflicts + 1, last_seconds=LAST_AWAY_SECONDS)
                except (Unreachable, NotLeading) as error:
                    num_failures += 1
                    again = back_off_seconds(num_failures, last_seconds=LAST_AWAY_SECONDS)
                    self._count(error)
                    log.warning(
                        "fleet_failed", fleet=str(fleet), error=str(error), next_seconds=again
                    )
                except Exception as error:
                    num_failures += 1
                    again = back_off_seconds(num_failures, last_seconds=LAST_PAUSE_SECONDS)
                    self._count(error)
                    log.exception("fleet_failed", fleet=str(fleet), next_seconds=again)
                    await self._tell(fleet, error)
                else:
                    num_failures, num_conflicts = 0, 0
                self._instruments.reconcile_duration.observe(self._clock() - began_at)
            if num_failures:
                # Changes must not shorten the pause, or a failing fleet would be hammered.
                await asyncio.sleep(again or 0.0)
                work.dirty.set()

    def _count(self, error: Exception) -> None:
        self._instruments.reconcile_failures.labels(reason=type(error).__name__).inc()

    async def _tell(self, fleet: FleetKey, error: Exception) -> None:
        try:
            await self._failed(fleet, error)
        except Exception:
            log.exception("failure_not_told", fleet=str(fleet))

    def _show(self) -> None:
        waiting = sum(work.dirty_since is not None for work in self._fleets.values())
        self._instruments.queue_depth.set(waiting)
        self._instruments.fleets.set(len(self._fleets))


async def _first(dirty: asyncio.Event, seconds: float | None) -> None:
    try:
        async with asyncio.timeout(seconds):
            await dirty.wait()
    except TimeoutError:
        return
