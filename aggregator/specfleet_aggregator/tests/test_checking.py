"""Looking at a delta: what is wrong with it, and how little of it is in memory meanwhile."""

from __future__ import annotations

import asyncio
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from specfleet_aggregator.checking import delta_fault
from specfleet_aggregator.tests.builders import FakeWorker, aggregator, drafter, joined
from specfleet_common.codecs import deltas
from specfleet_common.codecs.codec import Codec
from specfleet_common.wire.messages import Outcome

NUM_VALUES = 1 << 22
SHAPES = {"w": (NUM_VALUES,)}


@pytest.mark.parametrize("codec", list(Codec))
def test_a_large_delta_is_never_decoded_as_a_whole(codec: Codec) -> None:
    drawn = np.random.default_rng(0).standard_normal(NUM_VALUES, np.float32)
    data = deltas.encode({"w": drawn}, codec)
    digest = deltas.digest(data, codec)
    tracemalloc.start()

    fault = delta_fault(memoryview(data), codec, digest=digest, shapes=SHAPES, parameter_norm=1e3)

    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert fault is None
    assert peak_bytes < 2 << 20


async def test_a_delta_is_checked_while_all_other_threads_wait_for_the_store(
    tmp_path: Path,
) -> None:
    answered = threading.Event()
    async with asyncio.timeout(30.0), aggregator(tmp_path, quorum_minimum=2) as client:
        worker = FakeWorker(client, tmp_path)
        await joined(worker)
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(max_workers=1))
        waiting = asyncio.create_task(asyncio.to_thread(answered.wait))

        try:
            reply = await worker.push(drafter(0.5))
        finally:
            answered.set()
        await waiting

    assert reply.outcome is Outcome.ACCEPTED
