"""The load of many agents on an aggregator, and what is seen of it meanwhile. Judges nothing."""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from e2e.audits.beats import OUTER_STEP, QUIET, UPLOADING, Beat, Span
from e2e.audits.crowd import Crowd, Upload, crowd
from e2e.audits.footprint import Holding, followed, holding
from e2e.audits.pair import tell
from e2e.cpu import cpu_seconds
from specfleet_common.codecs.codec import Codec
from specfleet_common.diloco.rule import Rule
from specfleet_common.lineage import Lineage
from specfleet_common.tensors import content_digest_of_file
from specfleet_common.wire.client import AggregatorClient

FULL_PERIOD_SECONDS = 200.0
QUIET_SECONDS = 5.0
TICK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Options:
    """How many agents, and which part of the load of 120 million parameters in 200 seconds."""

    agents: int
    rounds: int
    part: float
    codec: Codec
    watchers: int
    patience_seconds: float
    seed: int
    combine: Rule = Rule.MEAN

    @property
    def period_seconds(self) -> float:
        """Return how long after the one before a round begins, if it is closed by then."""
        return FULL_PERIOD_SECONDS * self.part


@dataclass(slots=True)
class Seen:
    """What was measured."""

    beats: list[Beat] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    lag_seconds: list[float] = field(default_factory=list)
    """By how much this process was late, which the heartbeats' times contain."""
    states: int = 0
    fewest_live: int = sys.maxsize
    version: int = -1
    held: list[Holding] = field(default_factory=list)
    """Before the rounds, and at the end of each."""
    all_along: list[Holding] = field(default_factory=list)


async def measured(
    address: str, pid: int, lineage: Lineage, stock: Path, upload: Upload, options: Options
) -> Seen:
    """Run the rounds, and look at the aggregator meanwhile."""
    seen = Seen()
    digest = content_digest_of_file(stock)
    async with (
        crowd(address, lineage, digest, size=options.agents) as agents,
        AggregatorClient(address) as client,
        followed(pid) as seen.all_along,
        _ticking(seen),
    ):
        await asyncio.sleep(QUIET_SECONDS)
        await client.put_stock(lineage, stock, digest=digest)
        await agents.until_version(0, seconds=options.patience_seconds)
        async with _watched(address, seen, options.watchers):
            with _noted(QUIET, pid, seen):
                await asyncio.sleep(QUIET_SECONDS)
            seen.held.append(holding(pid))
            await _rounds(agents, pid, upload, seen, options)
            await asyncio.sleep(QUIET_SECONDS)
        seen.beats, seen.version = agents.beats(), agents.version
    return seen


async def _rounds(agents: Crowd, pid: int, upload: Upload, seen: Seen, options: Options) -> None:
    """Have every agent hand in its delta within the first half of each round's period."""
    chance = random.Random(options.seed)
    for round_ in range(options.rounds):
        tell(f"round {round_ + 1} of {options.rounds}")
        ends = time.monotonic() + options.period_seconds
        with _noted(UPLOADING, pid, seen):
            async with asyncio.TaskGroup() as group:
                for agent in agents.agents:
                    delay = chance.uniform(0.0, options.period_seconds / 2)
                    group.create_task(agent.hand_in(upload, round_=round_, delay=delay))
        with _noted(OUTER_STEP, pid, seen):
            await agents.until_version(round_ + 1, seconds=options.patience_seconds)
        await asyncio.sleep(max(0.0, ends - time.monotonic()))
        seen.held.append(holding(pid))


@contextmanager
def _noted(name: str, pid: int, seen: Seen) -> Iterator[None]:
    """Note how long the `with` block took, and what the aggregator computed meanwhile."""
    began, cpu = time.monotonic(), cpu_seconds(pid)
    yield
    seen.spans.append(Span(name, began, time.monotonic(), cpu_seconds(pid) - cpu))


@asynccontextmanager
async def _watched(address: str, seen: Seen, watchers: int) -> AsyncIterator[None]:
    """Watch the fleet's state as the operator does, with a connection for every watcher."""

    async def watch() -> None:
        async with AggregatorClient(address) as client:
            async for state in client.watch_state():
                seen.states += 1
                seen.fewest_live = min(seen.fewest_live, state.live_workers)

    watching = [asyncio.create_task(watch()) for _ in range(watchers)]
    try:
        yield
    finally:
        for task in watching:
            task.cancel()
        await asyncio.gather(*watching, return_exceptions=True)


@asynccontextmanager
async def _ticking(seen: Seen) -> AsyncIterator[None]:
    """Note by how much this process is late whenever it wants to go on."""

    async def tick() -> None:
        while True:
            wanted = time.monotonic() + TICK_SECONDS
            await asyncio.sleep(TICK_SECONDS)
            seen.lag_seconds.append(time.monotonic() - wanted)

    ticking = asyncio.create_task(tick())
    try:
        yield
    finally:
        ticking.cancel()
