"""Versions that come damaged, or as a patch that leads elsewhere, over a real connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import grpc.aio
import numpy as np
import pytest

from specfleet_common.codecs import patch
from specfleet_common.tensors import content_digest, encode
from specfleet_common.wire import codec
from specfleet_common.wire.client import (
    AggregatorClient,
    Held,
    PatchUnusable,
    Pulled,
    Unreachable,
)
from specfleet_common.wire.messages import VersionRef
from specfleet_common.wire.v1 import specfleet_pb2 as pb

DEADLINE_SECONDS = 20.0
LINEAGE_ID = "1" * 16


def weights(seed: int) -> bytes:
    drawn = np.random.default_rng(seed).standard_normal(40, np.float32)
    return encode({"w": drawn}, "bfloat16")


def version(number: int) -> VersionRef:
    data = weights(number)
    return VersionRef(number, content_digest(data), len(data))


def made(base: int, number: int) -> bytes:
    parts = patch.encode_parts(memoryview(weights(base)), memoryview(weights(number)))
    return b"".join(parts)


def chunks(number: int, data: bytes, *, patch_bytes: int = 0) -> list[pb.VersionChunk]:
    header = pb.VersionHeader(version=codec.encode_version(version(number)))
    header.patch_bytes = patch_bytes
    return [pb.VersionChunk(header=header), pb.VersionChunk(data=data)]


@asynccontextmanager
async def sender(answer: list[pb.VersionChunk]) -> AsyncIterator[AggregatorClient]:
    """Run a server that answers every pull alike, and return a client of it."""

    async def send(request: bytes, context: object) -> AsyncIterator[bytes]:
        for chunk in answer:
            yield chunk.SerializeToString()

    handlers = {"PullVersion": grpc.unary_stream_rpc_method_handler(send)}
    service = pb.DESCRIPTOR.services_by_name["Aggregator"].full_name
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with (
            asyncio.timeout(DEADLINE_SECONDS),
            AggregatorClient(f"127.0.0.1:{port}") as client,
        ):
            yield client
    finally:
        await server.stop(None)


@pytest.fixture
def have(tmp_path: Path) -> Held:
    (tmp_path / "version-1").write_bytes(weights(1))
    return Held(version(1), tmp_path / "version-1")


async def test_a_patch_makes_the_version_in_its_file(tmp_path: Path, have: Held) -> None:
    data = made(1, 2)
    async with sender(chunks(2, data, patch_bytes=len(data))) as client:
        pulled = await client.pull_version(LINEAGE_ID, 2, into=tmp_path / "got", have=have)

    assert pulled == Pulled(version(2), len(data), is_patch=True)
    assert (tmp_path / "got").read_bytes() == weights(2)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(made(3, 2), id="from-another-version"),
        pytest.param(made(1, 2)[:-1], id="truncated"),
        pytest.param(b"anything", id="anything"),
    ],
)
async def test_a_patch_that_leads_elsewhere_leaves_nothing_behind(
    tmp_path: Path, have: Held, data: bytes
) -> None:
    async with sender(chunks(2, data, patch_bytes=len(data))) as client:
        with pytest.raises(PatchUnusable, match="the patch from version 1"):
            await client.pull_version(LINEAGE_ID, 2, into=tmp_path / "got", have=have)

    assert [path.name for path in tmp_path.iterdir()] == ["version-1"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        pytest.param([], "header: is missing", id="nothing"),
        pytest.param(chunks(3, weights(3)), "version 3 came, expected version 2", id="another"),
        pytest.param(chunks(2, weights(3)), "came with digest", id="other-content"),
        pytest.param(chunks(2, weights(2)[:-1]), "bytes came", id="truncated"),
        pytest.param(
            chunks(2, made(1, 2), patch_bytes=len(made(1, 2))),
            "a patch came, expected the whole version",
            id="a-patch-that-nobody-asked-for",
        ),
    ],
)
async def test_a_version_that_is_not_the_wanted_one_may_come_again(
    tmp_path: Path, answer: list[pb.VersionChunk], reason: str
) -> None:
    async with sender(answer) as client:
        with pytest.raises(Unreachable, match=reason):
            await client.pull_version(LINEAGE_ID, 2, into=tmp_path / "got")

    assert not list(tmp_path.iterdir())
