"""What the aggregator's tests are built from: a tiny drafter, its worker, a server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from specfleet_aggregator.fleet import Policy
from specfleet_aggregator.round import RoundPolicy
from specfleet_aggregator.server import running
from specfleet_aggregator.settings import Settings
from specfleet_common.api.testing import LEARNING_FIELDS, learning
from specfleet_common.files import write_file
from specfleet_common.lineage import Lineage, shapes_digest
from specfleet_common.store.base import Store
from specfleet_common.store.entries import VersionPublished
from specfleet_common.store.ledger import Ledger
from specfleet_common.store.opening import open_store
from specfleet_common.tensors import Array, TensorMap, content_digest, decode, encode
from specfleet_common.wire.client import AggregatorClient
from specfleet_common.wire.messages import (
    DeltaHeader,
    DeltaReply,
    Heartbeat,
    HeartbeatReply,
    TrainerStatus,
    TrainingOrders,
    VersionRef,
)

SHAPES = {"a.weight": (3, 4), "b.weight": (5,)}
LINEAGE = Lineage("f" * 64, "mtp", "mimo", "bfloat16", shapes_digest(SHAPES))
ORDERS = TrainingOrders(
    local_steps=4,
    learning_rate=1e-3,
    depth_weights=(1.0,),
    rows_per_step=64,
    publish_every_steps=0,
)
TRAINING = TrainerStatus("training", 0, 0, 0, 0.0, ())


def drafter(value: float = 1.0) -> dict[str, Array]:
    return {name: np.full(shape, value, np.float32) for name, shape in SHAPES.items()}


STOCK_BYTES = encode(drafter(), "bfloat16")
STOCK_DIGEST = content_digest(STOCK_BYTES)


def policy(*, minimum: int = 1, percent: int = 60, max_round_seconds: float = 100.0) -> Policy:
    return Policy(
        fleet="fleet",
        generation=1,
        round=RoundPolicy(minimum, percent, max_round_seconds),
        orders=ORDERS,
        lease_seconds=10.0,
        heartbeat_seconds=1.0,
    )


def beat(
    worker_id: str = "w",
    *,
    lineage: Lineage | None = LINEAGE,
    trains: bool = True,
    trainer: TrainerStatus = TRAINING,
    stock_digest: str = STOCK_DIGEST,
) -> Heartbeat:
    return Heartbeat(
        worker_id=worker_id,
        cohort="main",
        trains=trains,
        lineage=lineage,
        stock_digest=stock_digest,
        held=None,
        observed_digest="stock",
        swaps=0,
        trainer=trainer,
        drafters=(),
    )


def header(
    worker_id: str = "w", *, round_: int = 0, base: int = 0, data: bytes = b"x", digest: str = ""
) -> DeltaHeader:
    return DeltaHeader(
        worker_id=worker_id,
        lineage_id=LINEAGE.id,
        round=round_,
        base_version=base,
        digest=digest or "d" * 64,
        size_bytes=len(data),
        steps=4,
        positions=100,
    )


def settings(directory: Path, **changes: object) -> Settings:
    """Return settings with some fields changed; those of learning are written to their file."""
    learn = {name: value for name, value in changes.items() if name in LEARNING_FIELDS}
    file = directory / "settings.json"
    write_settings(file, **learn)
    values: dict[str, object] = {
        "fleet": "fleet",
        "settings_file": file,
        "store_directory": directory / "store",
        "spool_directory": directory,
    }
    return Settings.model_validate(values | {n: v for n, v in changes.items() if n not in learn})


def write_settings(file: Path, **changes: object) -> None:
    """Write a settings file for quick tests."""
    quick = {"heartbeat_seconds": 0.1, "outer_learning_rate": 1.0, "outer_momentum": 0.0}
    write_file(file, learning(**{**quick, **changes}).to_json().encode())


@asynccontextmanager
async def aggregator(directory: Path, **changes: object) -> AsyncIterator[AggregatorClient]:
    """Run a real server in this process and return a client of it."""
    chosen = settings(directory, **changes)
    async with serving(chosen, open_store(chosen.store, {})) as client:
        yield client


@asynccontextmanager
async def serving(chosen: Settings, store: Store) -> AsyncIterator[AggregatorClient]:
    """Run a real server on any store and return a client of it."""
    async with (
        running(chosen, store) as port,
        AggregatorClient(f"127.0.0.1:{port}") as client,
    ):
        yield client


@dataclass
class FakeWorker:
    """Does what an agent and its trainer do, with deltas that the test chooses."""

    client: AggregatorClient
    directory: Path
    worker_id: str = "w"
    lineage: Lineage = LINEAGE
    stock: bytes = STOCK_BYTES
    replies: list[HeartbeatReply] = field(default_factory=list)

    async def heartbeat(self) -> HeartbeatReply:
        reply = await self.client.heartbeat(
            beat(self.worker_id, lineage=self.lineage, stock_digest=content_digest(self.stock))
        )
        self.replies.append(reply)
        return reply

    async def put_stock(self) -> VersionRef:
        path = self._file("stock", self.stock)
        return await self.client.put_stock(self.lineage, path, digest=content_digest(self.stock))

    async def push(self, delta: TensorMap, reply: HeartbeatReply | None = None) -> DeltaReply:
        """Push a delta for the round that a heartbeat's reply (by default the last) names."""
        reply = reply or self.replies[-1]
        assert reply.base is not None
        return await self.push_bytes(encode(delta), reply.round, reply.base.number)

    async def push_bytes(
        self, data: bytes, round_: int, base: int, *, digest: str = ""
    ) -> DeltaReply:
        digest = digest or content_digest(data)
        head = header(self.worker_id, round_=round_, base=base, data=data, digest=digest)
        return await self.client.push_delta(head, self._file("delta", data))

    async def pull(self, number: int) -> tuple[VersionRef, dict[str, Array]]:
        path = self.directory / f"{self.worker_id}-version"
        pulled = await self.client.pull_version(self.lineage.id, number, into=path)
        return pulled.version, decode(path.read_bytes())

    def _file(self, kind: str, data: bytes) -> Path:
        path = self.directory / f"{self.worker_id}-{kind}"
        path.write_bytes(data)
        return path


async def joined(worker: FakeWorker) -> HeartbeatReply:
    """Heartbeat, hand in the stock drafter when it is wanted, and heartbeat again."""
    reply = await worker.heartbeat()
    if reply.stock_wanted:
        await worker.put_stock()
        reply = await worker.heartbeat()
    return reply


async def at_version(worker: FakeWorker, number: int) -> HeartbeatReply:
    """Heartbeat until the aggregator announces a version; the test's timeout is the deadline."""
    while True:
        reply = await worker.heartbeat()
        if reply.base is not None and reply.base.number >= number:
            return reply


def published_in(store: Store) -> list[VersionPublished]:
    """Return the versions in the ledger of a store."""
    entries = Ledger(store, LINEAGE.id).entries()
    return [entry for entry in entries if isinstance(entry, VersionPublished)]
