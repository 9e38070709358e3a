"""Encoded deltas and patches over a real connection."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from specfleet_aggregator.tests.builders import (
    LINEAGE,
    SHAPES,
    FakeWorker,
    aggregator,
    at_version,
    drafter,
    header,
    joined,
)
from specfleet_common.codecs import deltas
from specfleet_common.codecs.codec import Codec
from specfleet_common.lineage import Lineage, shapes_digest
from specfleet_common.tensors import Array, TensorMap, content_digest, encode
from specfleet_common.wire.client import Held, PatchUnusable
from specfleet_common.wire.messages import DeltaReply, Outcome, VersionRef

DEADLINE_SECONDS = 20.0
LARGE_SHAPES = {"w": (300, 300)}
LARGE = replace(LINEAGE, shapes_digest=shapes_digest(LARGE_SHAPES))


def large(seed: int, scale: float) -> dict[str, Array]:
    drawn = np.random.default_rng(seed).standard_normal((300, 300)) * scale
    return {"w": drawn.astype(np.float32)}


A_SMALL_STEP = (large(0, 0.02), large(1, 5e-5))
"""Of a drafter: stock, and a delta."""


def of_all_sizes(seed: int) -> dict[str, Array]:
    """Return values from 2^-126 to 1, whose bits say nothing about those of another seed."""
    random = np.random.default_rng(seed)
    bits = random.integers(1 << 23, 126 << 23, (300, 300), dtype=np.uint32)
    return {"w": bits.view(np.float32)}


async def push(worker: FakeWorker, data: bytes, codec: Codec, digest: str = "") -> DeltaReply:
    reply = worker.replies[-1]
    assert reply.base is not None
    head = header(
        worker.worker_id,
        round_=reply.round,
        base=reply.base.number,
        data=data,
        digest=digest or deltas.digest(data, codec),
    )
    path = worker.directory / "delta"
    path.write_bytes(data)
    head = replace(head, codec=codec, lineage_id=worker.lineage.id)
    return await worker.client.push_delta(head, path)


@pytest.mark.parametrize("codec", list(Codec))
async def test_a_delta_in_any_encoding_counts_and_orders_name_the_wanted_one(
    tmp_path: Path, codec: Codec
) -> None:
    async with (
        asyncio.timeout(DEADLINE_SECONDS),
        aggregator(tmp_path, codec="Ternary") as client,
    ):
        worker = FakeWorker(client, tmp_path)
        await joined(worker)
        pushed = await push(worker, deltas.encode(drafter(0.5), codec), codec)
        reply = await at_version(worker, 1)
        _, weights = await worker.pull(1)

    assert pushed.outcome is Outcome.ACCEPTED
    assert reply.orders.codec is Codec.TERNARY
    for name, shape in SHAPES.items():
        np.testing.assert_allclose(weights[name], np.full(shape, 0.5), atol=0.005)


async def test_workers_learn_whose_deltas_a_version_is_made_of_also_after_a_restart(
    tmp_path: Path,
) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        async with aggregator(tmp_path, quorum_percent=50) as client:
            one, two = FakeWorker(client, tmp_path, "one"), FakeWorker(client, tmp_path, "two")
            await joined(one)
            await joined(two)
            await one.push(drafter(0.25))
            counted = await at_version(one, 1)
            missed = await two.heartbeat()
        async with aggregator(tmp_path) as client:
            one.client = two.client = client
            after = [await one.heartbeat(), await two.heartbeat()]

    assert (counted.counted_version, missed.counted_version) == (1, 0)
    assert [reply.counted_version for reply in after] == [1, 0]


@pytest.mark.parametrize(
    ("delta", "reason"),
    [
        pytest.param(drafter(np.nan), "a scale is not finite", id="nan"),
        pytest.param(drafter(1e4), "times that of the parameters", id="absurd-norm"),
        pytest.param(
            {**drafter(), "b.weight": np.ones(6, np.float32)}, "shape is (6,)", id="shape"
        ),
        pytest.param({"a.weight": drafter()["a.weight"]}, "missing ['b.weight']", id="missing"),
    ],
)
@pytest.mark.parametrize("codec", [Codec.INT8, Codec.TERNARY])
async def test_a_poisoned_encoded_delta_is_refused(
    tmp_path: Path, codec: Codec, delta: dict[str, Array], reason: str
) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS), aggregator(tmp_path) as client:
        worker = FakeWorker(client, tmp_path)
        await joined(worker)
        reply = await push(worker, deltas.encode(delta, codec), codec)

    assert reply.outcome is Outcome.REFUSED
    assert reason in reply.reason


@pytest.mark.parametrize(
    ("data", "codec", "digest", "reason"),
    [
        pytest.param(
            deltas.encode(drafter(), Codec.INT8),
            Codec.TERNARY,
            "",
            "the coding is 'Int8', expected 'Ternary'",
            id="another-encoding-than-announced",
        ),
        pytest.param(
            deltas.encode(drafter(), Codec.INT8)[:-1],
            Codec.INT8,
            "",
            "a frame ends at byte",
            id="truncated-by-its-worker",
        ),
        pytest.param(
            deltas.encode(drafter(), Codec.INT8), Codec.INT8, "a" * 64, "expected aaaa", id="digest"
        ),
        pytest.param(b"anything", Codec.INT8, "", "the first bytes are not", id="anything"),
    ],
)
async def test_bytes_that_are_no_such_delta_are_refused(
    tmp_path: Path, data: bytes, codec: Codec, digest: str, reason: str
) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS), aggregator(tmp_path) as client:
        worker = FakeWorker(client, tmp_path)
        await joined(worker)
        reply = await push(worker, data, codec, digest)

    assert reply.outcome is Outcome.REFUSED
    assert reason in reply.reason


async def with_a_second_version(
    worker: FakeWorker, lineage: Lineage, stock: TensorMap, delta: TensorMap
) -> tuple[VersionRef, VersionRef]:
    """Make version 1 of a larger drafter; return versions 0 and 1."""
    worker.lineage, worker.stock = lineage, encode(stock, lineage.dtype)
    first = (await joined(worker)).base
    await push(worker, deltas.encode(delta, Codec.FLOAT32), Codec.FLOAT32)
    second = (await at_version(worker, 1)).base
    assert first is not None
    assert second is not None
    return first, second


def held(directory: Path, version: VersionRef, data: bytes) -> Held:
    (directory / "held").write_bytes(data)
    return Held(version, directory / "held")


async def test_who_has_the_last_version_gets_a_patch_to_the_next(tmp_path: Path) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS), aggregator(tmp_path) as client:
        worker = FakeWorker(client, tmp_path)
        first, second = await with_a_second_version(worker, LARGE, *A_SMALL_STEP)
        have = held(tmp_path, first, worker.stock)
        pulls = [
            client.pull_version(LARGE.id, 1, into=tmp_path / f"got-{n}", have=have)
            for n in range(3)
        ]
        pulled = await asyncio.gather(*pulls)
        whole = await client.pull_version(LARGE.id, 1, into=tmp_path / "whole")
        states = client.watch_state()
        state = await anext(states)
        await states.aclose()

    assert [(p.version, p.is_patch) for p in pulled] == [(second, True)] * 3
    assert not whole.is_patch
    assert pulled[0].received_bytes < 0.3 * second.size_bytes == 0.3 * whole.received_bytes
    assert (tmp_path / "got-0").read_bytes() == (tmp_path / "whole").read_bytes()
    sent = sum(p.received_bytes for p in (*pulled, whole))
    assert state.sent_bytes == sent
    assert state.received_bytes == len(worker.stock) + (tmp_path / "delta").stat().st_size


@pytest.mark.parametrize(
    "have",
    [
        pytest.param(VersionRef(0, "a" * 64, 1), id="of-another-content"),
        pytest.param(VersionRef(7, "a" * 64, 1), id="that-does-not-exist"),
    ],
)
async def test_the_whole_version_comes_to_who_has_none_that_is_known(
    tmp_path: Path, have: VersionRef
) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS), aggregator(tmp_path) as client:
        worker = FakeWorker(client, tmp_path)
        _, second = await with_a_second_version(worker, LARGE, *A_SMALL_STEP)
        pulled = await client.pull_version(
            LARGE.id, 1, into=tmp_path / "got", have=held(tmp_path, have, worker.stock)
        )

    assert (pulled.version, pulled.is_patch) == (second, False)
    assert content_digest((tmp_path / "got").read_bytes()) == second.digest


async def test_the_whole_version_comes_when_a_patch_saves_too_little(tmp_path: Path) -> None:
    lineage = replace(LARGE, dtype="float32")
    stock, unlike = of_all_sizes(1), of_all_sizes(2)
    async with asyncio.timeout(DEADLINE_SECONDS), aggregator(tmp_path) as client:
        worker = FakeWorker(client, tmp_path)
        delta = {"w": stock["w"] - unlike["w"]}
        first, second = await with_a_second_version(worker, lineage, stock, delta)
        have = held(tmp_path, first, worker.stock)
        pulled = await client.pull_version(lineage.id, 1, into=tmp_path / "got", have=have)

    assert (pulled.version, pulled.is_patch) == (second, False)


async def test_a_patch_for_a_file_that_is_not_what_it_was_is_unusable(tmp_path: Path) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS), aggregator(tmp_path) as client:
        worker = FakeWorker(client, tmp_path)
        first, _ = await with_a_second_version(worker, LARGE, *A_SMALL_STEP)
        damaged = held(tmp_path, first, encode(large(3, 0.02), "bfloat16"))
        with pytest.raises(PatchUnusable, match="the patch from version 0"):
            await client.pull_version(LARGE.id, 1, into=tmp_path / "got", have=damaged)

    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "delta",
        "held",
        "settings.json",
        "store",
        "w-stock",
    ]
