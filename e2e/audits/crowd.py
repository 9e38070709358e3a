"""Many simulated agents: each has a connection of its own, a lease, and a delta for every round."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import grpc
import grpc.aio

from e2e.audits.beats import Beat
from specfleet_common.codecs import deltas
from specfleet_common.codecs.codec import Codec
from specfleet_common.lineage import Lineage
from specfleet_common.wire.client import AggregatorClient, Refused, Unreachable
from specfleet_common.wire.messages import (
    DeltaHeader,
    DrafterCounters,
    Heartbeat,
    HeartbeatReply,
    Outcome,
    TrainerStatus,
)

BEAT_SECONDS = 1.0
WAIT_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Upload:
    """The file that every agent hands in, whatever the round."""

    path: Path
    codec: Codec
    digest: str

    @classmethod
    def of(cls, path: Path, codec: Codec) -> Self:
        """Look into a file once."""
        return cls(path, codec, deltas.digest(path.read_bytes(), codec))


class OwnConnection(AggregatorClient):
    """A client that shares its connection with no other one of this process."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        options = (("grpc.use_local_subchannel_pool", 1), ("grpc.enable_http_proxy", 0))
        self._channel = grpc.aio.insecure_channel(address, options=options)


@dataclass(slots=True)
class Agent:
    """One of them; what it knows it has from its last heartbeat's answer."""

    client: AggregatorClient
    beat: Heartbeat
    told: HeartbeatReply | None = None
    beats: list[Beat] = field(default_factory=list)

    async def keep_beating(self, delay: float) -> None:
        """Send a heartbeat every second, each after the answer to the one before."""
        await asyncio.sleep(delay)
        while True:
            began = time.monotonic()
            failure = ""
            try:
                self.told = await self.client.heartbeat(self.beat)
            except (Unreachable, Refused) as error:
                failure = str(error)
            ended = time.monotonic()
            self.beats.append(Beat(began, ended, failure))
            await asyncio.sleep(max(0.0, began + BEAT_SECONDS - ended))

    async def hand_in(self, upload: Upload, *, round_: int, delay: float) -> None:
        """Hand in the delta of a round; it has to count."""
        await asyncio.sleep(delay)
        header = DeltaHeader(
            worker_id=self.beat.worker_id,
            lineage_id=_lineage_of(self.beat).id,
            round=round_,
            base_version=round_,
            digest=upload.digest,
            size_bytes=upload.path.stat().st_size,
            steps=100,
            positions=100_000,
            codec=upload.codec,
        )
        reply = await self.client.push_delta(header, upload.path)
        assert reply.outcome is Outcome.ACCEPTED, reply.reason


@dataclass(slots=True)
class Crowd:
    """All of them."""

    agents: Sequence[Agent]

    @property
    def version(self) -> int:
        """Return the newest version that any of them was told of, -1 before there is one."""
        told = [one.told.base for one in self.agents if one.told is not None]
        return max((base.number for base in told if base is not None), default=-1)

    def beats(self) -> list[Beat]:
        """Return all heartbeats so far."""
        return [beat for agent in self.agents for beat in agent.beats]

    async def until_version(self, number: int, *, seconds: float) -> None:
        """Wait until one of them was told of a version."""
        async with asyncio.timeout(seconds):
            # Their heartbeats tell, 200 times a second.
            while self.version < number:  # noqa: ASYNC110
                await asyncio.sleep(WAIT_SECONDS)


@asynccontextmanager
async def crowd(
    address: str, lineage: Lineage, stock_digest: str, *, size: int
) -> AsyncIterator[Crowd]:
    """Have so many agents beat for the time of a `with` block, evenly over every second."""
    async with AsyncExitStack() as stack:
        agents = [
            Agent(
                await stack.enter_async_context(OwnConnection(address)),
                _beat(f"agent-{number:03d}", lineage, stock_digest),
            )
            for number in range(size)
        ]
        beating = [
            asyncio.create_task(agent.keep_beating(BEAT_SECONDS * number / size))
            for number, agent in enumerate(agents)
        ]
        try:
            yield Crowd(agents)
        finally:
            for task in beating:
                task.cancel()
            for task in beating:
                with suppress(asyncio.CancelledError):
                    await task


def _beat(worker_id: str, lineage: Lineage, stock_digest: str) -> Heartbeat:
    """Return a heartbeat as long as that of an agent whose engine has run two drafters."""
    counters = DrafterCounters(stock_digest, 10_000, (10_000,) * 3, (5000,) * 3, 25_000, 100.0)
    return Heartbeat(
        worker_id=worker_id,
        cohort="main",
        trains=True,
        lineage=lineage,
        stock_digest=stock_digest,
        held=None,
        observed_digest=stock_digest,
        swaps=0,
        trainer=TrainerStatus("training", 50, 50, 50_000, 250.0, (2.0, 2.5, 3.0)),
        drafters=(counters, replace(counters, digest="f" * 64)),
        serve="Stable",
    )


def _lineage_of(beat: Heartbeat) -> Lineage:
    assert beat.lineage is not None
    return beat.lineage
