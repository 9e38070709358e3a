"""One worker of three sends a delta that is far too long, yet not so absurd that it is refused."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest
from structlog.testing import capture_logs

from specfleet_aggregator.tests.builders import FakeWorker, aggregator, at_version, drafter, joined
from specfleet_common.tensors import Array

DEADLINE_SECONDS = 20.0
DELTAS = {"one": 0.25, "two": 0.25, "three": 50.0}


async def version_and_metrics(directory: Path, *, combine: str, port: int) -> tuple[Array, str]:
    """Return a tensor of the version that three workers make, and what is then measured."""
    changes = {"combine": combine, "quorum_minimum": len(DELTAS), "metrics_port": port}
    async with asyncio.timeout(DEADLINE_SECONDS), aggregator(directory, **changes) as client:
        workers = [FakeWorker(client, directory, name) for name in DELTAS]
        for worker in workers:
            await joined(worker)
            await worker.push(drafter(DELTAS[worker.worker_id]))
        await at_version(workers[0], 1)
        _, version = await workers[0].pull(1)
        return version["a.weight"], await asyncio.to_thread(_metrics, port)


def _metrics(port: int) -> str:
    """Return the page once it has the workers: they are shown a moment after they have joined."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while True:
        with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            page = str(answer.read().decode())
        if 'worker="one"' in page or time.monotonic() > deadline:
            return page
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("combine", "value"),
    [
        pytest.param("Mean", 1.0 - (0.25 + 0.25 + 50.0) / 3, id="mean"),
        pytest.param("CoordinateMedian", 0.75, id="median"),
        pytest.param("TrimmedMean", 0.75, id="trimmed-mean"),
    ],
)
async def test_a_robust_rule_goes_where_the_others_went(
    tmp_path: Path, unused_tcp_port: int, combine: str, value: float
) -> None:
    weights, _ = await version_and_metrics(tmp_path, combine=combine, port=unused_tcp_port)

    np.testing.assert_allclose(weights, value, rtol=1e-2)


async def test_a_delta_that_is_left_out_is_counted_and_its_worker_named(
    tmp_path: Path, unused_tcp_port: int
) -> None:
    with capture_logs() as logs:
        _, metrics = await version_and_metrics(
            tmp_path, combine="TrimmedMean", port=unused_tcp_port
        )

    (entry,) = [entry for entry in logs if entry["event"] == "delta_left_out"]
    assert (entry["worker"], entry["round"]) == ("three", 0)
    assert entry["reason"].startswith("norm is 206.2, expected at most 2.062")
    name = "specfleet_aggregator_left_out_deltas_total"
    assert f'{name}{{worker="three"}} 1.0' in metrics
    assert f'{name}{{worker="one"}} 0.0' in metrics
    assert 'specfleet_aggregator_deltas_total{outcome="accepted"} 3.0' in metrics
