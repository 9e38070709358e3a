"""Uploads that end early, over a real connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import grpc.aio
import pytest

from specfleet_common.lineage import Lineage
from specfleet_common.wire.client import AggregatorClient, Unreachable
from specfleet_common.wire.messages import DeltaHeader
from specfleet_common.wire.v1 import specfleet_pb2 as pb

DEADLINE_SECONDS = 20.0
UNREADABLE = Path("/proc/self/mem")
"""A file that opens and then fails to be read: nothing is mapped at address 0."""

Upload = Callable[[AggregatorClient, Path], Awaitable[object]]


async def put_stock(client: AggregatorClient, source: Path) -> object:
    lineage = Lineage("1" * 64, "mtp", "mimo", "float32", "2" * 64)
    return await client.put_stock(lineage, source, digest="a" * 64)


async def push_delta(client: AggregatorClient, source: Path) -> object:
    header = DeltaHeader(
        worker_id="worker-1",
        lineage_id="1" * 64,
        round=3,
        base_version=3,
        digest="a" * 64,
        size_bytes=8,
        steps=10,
        positions=600,
    )
    return await client.push_delta(header, source)


class SilentAggregator:
    """Takes whatever is uploaded and never answers."""

    def __init__(self) -> None:
        self.received = asyncio.Event()

    async def receive(self, chunks: AsyncIterator[bytes], context: object) -> bytes:
        async for _ in chunks:
            self.received.set()
        await asyncio.Event().wait()
        return b""


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[AggregatorClient, SilentAggregator]]:
    """Run a server, and return a client of it and what receives the calls."""
    server, aggregator = grpc.aio.server(), SilentAggregator()
    upload = grpc.stream_unary_rpc_method_handler(aggregator.receive)
    handlers = {"PutStock": upload, "PushDelta": upload}
    service = pb.DESCRIPTOR.services_by_name["Aggregator"].full_name
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with (
            asyncio.timeout(DEADLINE_SECONDS),
            AggregatorClient(f"127.0.0.1:{port}") as client,
        ):
            yield client, aggregator
    finally:
        await server.stop(None)


@pytest.mark.parametrize("upload", [put_stock, push_delta])
async def test_an_upload_whose_file_cannot_be_read_to_the_end_may_be_tried_again(
    upload: Upload,
) -> None:
    async with connected() as (client, _):
        with pytest.raises(Unreachable, match="the upload was broken off"):
            await upload(client, UNREADABLE)


@pytest.mark.parametrize("upload", [put_stock, push_delta])
async def test_a_missing_file_is_noticed_before_the_call(upload: Upload, tmp_path: Path) -> None:
    async with AggregatorClient("127.0.0.1:1") as client:
        with pytest.raises(FileNotFoundError):
            await upload(client, tmp_path / "missing.safetensors")


async def test_a_caller_that_is_told_to_stop_stops(tmp_path: Path) -> None:
    source = tmp_path / "stock.safetensors"
    source.write_bytes(b"weights")
    async with connected() as (client, aggregator):
        task = asyncio.ensure_future(put_stock(client, source))
        await aggregator.received.wait()

        task.cancel()

        with pytest.raises(asyncio.CancelledError):
            await task
