"""Three candidates in one fleet: one that was learnt, one that is damaged, one that is slow."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from e2e.fleets import STORE
from e2e.killing import kill
from e2e.observing import Observer
from e2e.promoting.fleet import publish_again
from e2e.promoting.slowing import descendants, slow_while
from e2e.promoting.watching import Told, all_run, follow
from e2e.sabotage import publish_damaged
from specfleet_cli.endpoints import FILE_NAME, Fleet, read_fleet
from specfleet_common.store.directory import DirectoryStore
from specfleet_common.store.versions import lineages

BACK_WITHIN_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Learnt:
    """Where what was learnt lies, and which versions of it become candidates."""

    store: Path
    first: int
    second: int


@dataclass(frozen=True, slots=True)
class Story:
    """What became of the three candidates, and how long all engines took to be where they ought."""

    learnt: Told
    learnt_everywhere_seconds: float
    damaged: Told
    slow: Told
    slow_gone_seconds: float


async def tell(
    fleet: Fleet, observer: Observer, source: Learnt, out: Path, *, say: Callable[[str], None]
) -> Story:
    """Follow the candidates one after the other; the fleet has the first one from its start."""
    store = out / STORE
    opened = DirectoryStore(store)
    learnt = await follow(observer, source.first)
    everywhere = await _until_all_run(observer, learnt.promotion.digest)
    say(_told("what was learnt", learnt))

    publish_damaged(opened, lineages(opened)[0], seed=1, now=time.time())
    await _find(fleet, observer, out)
    damaged = await follow(observer, source.first + 1)
    say(_told("weights damaged on purpose", damaged))

    digest = publish_again(source.store, source.second, store)
    async with _slow_with(digest, observer, out):
        await _find(fleet, observer, out)
        slow = await follow(observer, source.first + 2)
        say(_told("a drafter that slows its engines", slow))
        gone = await _until_all_run(observer, learnt.promotion.digest)
    return Story(learnt, everywhere, damaged, slow, gone)


async def _find(fleet: Fleet, observer: Observer, out: Path) -> None:
    """Have the aggregator find what was put into its store: its round would never end."""
    await kill("aggregator", fleet.workers[0], out / FILE_NAME, observer)


async def _until_all_run(observer: Observer, digest: str) -> float:
    seconds = await observer.until(all_run(observer, digest), seconds=BACK_WITHIN_SECONDS)
    if seconds is None:
        workers = observer.state.workers if observer.state else ()
        found = {worker.worker_id: worker.observed_digest for worker in workers}
        raise SystemExit(f"engines run {found}, expected {digest} within {BACK_WITHIN_SECONDS} s")
    return seconds


@asynccontextmanager
async def _slow_with(digest: str, observer: Observer, out: Path) -> AsyncIterator[None]:
    """Slow every engine while it runs a drafter, for the time of a `with` block."""

    engines = {
        worker.name: descendants(worker.engine.pid)
        for worker in read_fleet(out / FILE_NAME).workers
        if worker.engine.pid is not None
    }

    def slowed() -> list[int]:
        runs = {one.worker: one.digest for one in observer.observations}
        return [pid for name, pids in engines.items() if runs.get(name) == digest for pid in pids]

    task = asyncio.create_task(slow_while(slowed))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def _told(what: str, told: Told) -> str:
    promotion = told.promotion
    return (
        f"{what}: version {promotion.number} {promotion.outcome} after {told.seconds:.0f} s, "
        f"used for {told.traffic_percent:.1f} % of the tokens. {promotion.sentence}"
    )
