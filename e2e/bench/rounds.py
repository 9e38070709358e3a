"""Rounds of six workers with a real aggregator over gRPC on this machine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from e2e.bench.aggregation import AGENTS
from e2e.bench.drafter import LINEAGE
from e2e.bench.memory import watching
from e2e.bench.processes import DEADLINE_SECONDS, POLL_SECONDS, running_aggregator
from e2e.bench.timing import summed_up
from specfleet_common.codecs import deltas
from specfleet_common.codecs.codec import Codec
from specfleet_common.tensors import content_digest_of_file
from specfleet_common.wire.client import AggregatorClient, Held
from specfleet_common.wire.messages import (
    DeltaHeader,
    Heartbeat,
    HeartbeatReply,
    Outcome,
    TrainerStatus,
    VersionRef,
)

WORKERS = tuple(f"worker-{number}" for number in range(AGENTS))


async def measure(folder: Path, encoded: Mapping[Codec, Path]) -> dict[str, Any]:
    """Hand in stock, make a version with every codec, fetch it, and start the aggregator again."""
    stock = folder / "stock.safetensors"
    stock_digest = content_digest_of_file(stock)
    figures: dict[str, Any] = {}
    with (
        running_aggregator(folder, quorum=AGENTS) as (process, address),
        watching(process.pid) as peak,
    ):
        async with AggregatorClient(address) as client:
            fleet = _Workers(client, stock_digest)
            await fleet.beat()
            began = time.perf_counter()
            held = await client.put_stock(LINEAGE, stock, digest=stock_digest)
            figures["put_stock_seconds"] = time.perf_counter() - began
            path = stock
            for codec, delta in encoded.items():
                made, measured = await fleet.round(delta, codec)
                into = folder / f"version-{made.number}.safetensors"
                downloads = await _downloads(client, made, into, Held(held, path))
                figures[codec.value] = measured | {"download": downloads}
                held, path = made, into
    figures["aggregator_memory"] = asdict(peak)
    figures["restart_seconds"] = await _restarted(folder, held, stock_digest)
    return figures


class _Workers:
    """Six workers that hold leases and hand in the same delta."""

    def __init__(self, client: AggregatorClient, stock_digest: str) -> None:
        self._client = client
        self._stock_digest = stock_digest

    async def beat(self) -> HeartbeatReply:
        """Renew all leases; return the last answer."""
        replies = [
            await self._client.heartbeat(_heartbeat(name, self._stock_digest)) for name in WORKERS
        ]
        return replies[-1]

    async def round(self, path: Path, codec: Codec) -> tuple[VersionRef, dict[str, Any]]:
        """Hand in the deltas one after the other, and wait for the version they make."""
        answer = await self.beat()
        assert answer.base is not None, "there is a version"
        header = DeltaHeader(
            worker_id="",
            lineage_id=LINEAGE.id,
            round=answer.round,
            base_version=answer.base.number,
            digest=deltas.digest(path.read_bytes(), codec),
            size_bytes=path.stat().st_size,
            steps=100,
            positions=1000,
            codec=codec,
        )
        seconds = []
        for name in WORKERS:
            began = time.perf_counter()
            reply = await self._client.push_delta(replace(header, worker_id=name), path)
            seconds.append(time.perf_counter() - began)
            assert reply.outcome is Outcome.ACCEPTED, reply.reason
        began = time.perf_counter()
        made = await self.version(answer.base.number + 1)
        return made, {
            "upload": asdict(summed_up(seconds)),
            "publish_seconds": time.perf_counter() - began,
        }

    async def version(self, number: int) -> VersionRef:
        """Return the version of this number as soon as the aggregator names it."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            # Only asking tells.
            while (base := (await self.beat()).base) is None or base.number < number:  # noqa: ASYNC110
                await asyncio.sleep(POLL_SECONDS)
            return base


async def _downloads(
    client: AggregatorClient, version: VersionRef, into: Path, held: Held
) -> dict[str, Any]:
    """Fetch a version whole, then as a patch to the one before: made for the first that asks."""
    figures = {}
    for name, have in (("whole", None), ("patch_first", held), ("patch", held)):
        began = time.perf_counter()
        pulled = await client.pull_version(LINEAGE.id, version.number, into=into, have=have)
        seconds = time.perf_counter() - began
        figures[name] = {
            "seconds": seconds,
            "bytes": pulled.received_bytes,
            "is_patch": pulled.is_patch,
        }
    return figures


async def _restarted(folder: Path, newest: VersionRef, stock_digest: str) -> float:
    """Return how long a new process takes until it names the newest version."""
    began = time.perf_counter()
    with running_aggregator(folder, quorum=AGENTS) as (_, address):
        async with AggregatorClient(address) as client:
            await _Workers(client, stock_digest).version(newest.number)
    return time.perf_counter() - began


def _heartbeat(worker_id: str, stock_digest: str) -> Heartbeat:
    return Heartbeat(
        worker_id=worker_id,
        cohort="main",
        trains=True,
        lineage=LINEAGE,
        stock_digest=stock_digest,
        held=None,
        observed_digest=stock_digest,
        swaps=0,
        trainer=TrainerStatus("training", 0, 0, 0, 0.0, ()),
        drafters=(),
    )
