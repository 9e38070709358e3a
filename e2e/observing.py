"""Watches a running fleet from outside: rank pages, and what the aggregator tells."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from e2e.checks import Observation, Published
from e2e.timeline import Count, Training
from specfleet_cli.endpoints import Fleet, Worker
from specfleet_cli.watching import watch
from specfleet_common.shm.layout import ShmAbsent, ShmMismatch
from specfleet_common.shm.names import page_file
from specfleet_common.shm.pages import PageReader
from specfleet_common.wire.access import access_by_files
from specfleet_common.wire.messages import FleetState, WorkerState

POLL_SECONDS = 0.1
COUNT_SECONDS = 1.0


class Observer:
    """Collects what engines run and which versions come, from when `observe` is started."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._workers = list(fleet.workers)
        self._began = time.monotonic()
        self._pages: dict[str, PageReader] = {}
        self.observations: list[Observation] = []
        self.published: list[Published] = []
        self.counts: list[Count] = []
        self.trainings: list[Training] = []
        self.state: FleetState | None = None
        self.told_at = 0.0
        self._failure: Exception | None = None

    @property
    def seconds(self) -> float:
        """Return the time since the observer was made."""
        return time.monotonic() - self._began

    async def observe(self) -> None:
        """Watch until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                access = access_by_files(token_file=Path(self._fleet.token_file))
                group.create_task(watch(self._fleet.aggregator_address, access, self._take_state))
                group.create_task(self._watch_pages())
        except Exception as error:
            self._failure = error
            raise

    def watch_also(self, worker: Worker) -> None:
        """Watch an engine that was not there when the observer was made.

        It takes the place of one of its name that is gone, whose page was another file.
        """
        self._workers = [one for one in self._workers if one.name != worker.name]
        self._workers.append(worker)
        self._pages.pop(worker.name, None)

    def worker(self, worker_id: str) -> WorkerState | None:
        """Return what the aggregator tells of a worker."""
        workers = self.state.workers if self.state else ()
        return next((one for one in workers if one.worker_id == worker_id), None)

    def num_new_versions(self) -> int:
        """Return how many versions came after stock."""
        return sum(version.number > 0 for version in self.published)

    def has_run(self, worker: str, version: Published) -> bool:
        """Say whether an engine was seen to run a version."""
        return any(
            one.worker == worker and one.digest == version.digest for one in self.observations
        )

    async def until(self, condition: Callable[[], bool], *, seconds: float) -> float | None:
        """Return the seconds until a condition came true, None when it did not in time.

        RuntimeError where nothing is watched any more.
        """
        began = self.seconds
        while not condition():
            if self._failure is not None:
                raise RuntimeError("the observer of the fleet has failed") from self._failure
            if self.seconds - began > seconds:
                return None
            await asyncio.sleep(POLL_SECONDS)
        return self.seconds - began

    def _take_state(self, state: FleetState) -> None:
        self.state = state
        self.told_at = self.seconds
        base = state.base
        if base is not None and all(base.number != known.number for known in self.published):
            self.published.append(Published(self.seconds, base.number, base.digest))
        self.trainings += [
            Training(
                seconds=self.seconds,
                worker=name,
                phase=told.trainer.phase,
                round=state.round,
                version=base.number if base else 0,
                total_steps=told.trainer.total_steps,
                positions=told.trainer.positions,
                positions_per_second=told.trainer.positions_per_second,
                loss=told.trainer.loss,
            )
            for name, told in self._told_of_trainers()
        ]

    def _told_of_trainers(self) -> list[tuple[str, WorkerState]]:
        known = [(one.name, self.worker(one.worker_id)) for one in self._workers if one.train]
        return [(name, told) for name, told in known if told is not None]

    async def _watch_pages(self) -> None:
        while True:
            for worker in self._workers:
                self._read_page(worker.name, Path(worker.shm_directory) / page_file(0))
            await asyncio.sleep(POLL_SECONDS)

    def _read_page(self, worker: str, path: Path) -> None:
        reader = self._pages.get(worker)
        if reader is None or reader.is_replaced():
            try:
                reader = self._pages[worker] = PageReader.attach(path)
            except (ShmAbsent, ShmMismatch):
                # None yet, or of a plugin of another version: the agent says so.
                return
        page = reader.read()
        if page is None or "lineage" not in page:
            # Nothing yet, or of an engine that is not adapted, which says no more than why.
            return
        self._count(worker, page)
        facts = (page["swaps"], page["observed"], page["observed_digest"])
        before = [one for one in self.observations if one.worker == worker][-1:]
        if [(one.swaps, one.observed, one.digest) for one in before] != [facts]:
            self.observations.append(Observation(self.seconds, worker, *facts))

    def _count(self, worker: str, page: dict[str, Any]) -> None:
        """Keep the engine's counters now and then."""
        before = next((one for one in reversed(self.counts) if one.worker == worker), None)
        if before is not None and self.seconds < before.seconds + COUNT_SECONDS:
            return
        drafters = page["drafters"]
        depths = range(page["rows"]["num_speculative_tokens"])
        self.counts.append(
            Count(
                seconds=self.seconds,
                worker=worker,
                verify_steps=sum(one["verify_steps"] for one in drafters),
                accepted=tuple(sum(one["accepted"][depth] for one in drafters) for depth in depths),
                output_tokens=sum(one["output_tokens"] for one in drafters),
            )
        )


@asynccontextmanager
async def watching(observer: Observer) -> AsyncIterator[None]:
    """Observe for the time of a `with` block."""
    task = asyncio.create_task(observer.observe())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
