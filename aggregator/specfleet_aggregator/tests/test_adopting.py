"""Settings that change while a fleet learns, over a real connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from specfleet_aggregator.tests.builders import (
    FakeWorker,
    aggregator,
    at_version,
    drafter,
    joined,
    write_settings,
)
from specfleet_common.wire.client import AggregatorClient
from specfleet_common.wire.messages import FleetState

DEADLINE_SECONDS = 20.0


async def shown(client: AggregatorClient, wanted: Callable[[FleetState], bool]) -> FleetState:
    """Watch until the fleet is as wanted; the test's timeout is the deadline."""
    states = client.watch_state()
    try:
        async for state in states:
            if wanted(state):
                return state
    finally:
        await states.aclose()
    raise AssertionError("the stream ended")


async def test_orders_change_with_the_next_heartbeat_after(tmp_path: Path) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS), aggregator(tmp_path, local_steps=5) as client:
        worker = FakeWorker(client, tmp_path)
        before = await joined(worker)
        write_settings(
            tmp_path / "settings.json",
            generation=2,
            local_steps=7,
            codec="Int8",
            lease_seconds=33.0,
            heartbeat_seconds=0.2,
        )
        state = await shown(client, lambda state: state.settings_generation == 2)
        after = await worker.heartbeat()

    assert before.orders.local_steps == 5
    assert (after.orders.local_steps, after.orders.codec) == (7, "Int8")
    assert (after.lease_seconds, after.heartbeat_seconds) == (33.0, 0.2)
    assert (after.round, after.base) == (before.round, before.base)
    assert state.settings_error == ""


async def test_a_quorum_that_is_lowered_closes_the_open_round(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(DEADLINE_SECONDS),
        aggregator(tmp_path, quorum_minimum=3) as client,
    ):
        worker = FakeWorker(client, tmp_path)
        await joined(worker)
        await worker.push(drafter(0.5))
        waiting = await shown(client, lambda state: state.deltas == 1)
        write_settings(tmp_path / "settings.json", generation=2, quorum_minimum=1)
        reply = await at_version(worker, 1)

    assert waiting.quorum == 3
    assert reply.round == 1


async def test_a_shorter_round_ends_the_one_that_is_open(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(DEADLINE_SECONDS),
        aggregator(tmp_path, quorum_percent=100) as client,
    ):
        worker, idle = FakeWorker(client, tmp_path, "w"), FakeWorker(client, tmp_path, "idle")
        await joined(worker)
        await joined(idle)
        await worker.push(drafter(0.5))
        write_settings(
            tmp_path / "settings.json", generation=2, quorum_percent=100, max_round_seconds=0.1
        )
        reply = await at_version(worker, 1)

    assert reply.round == 1


async def test_the_next_outer_step_is_as_large_as_the_newest_settings_say(tmp_path: Path) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS), aggregator(tmp_path) as client:
        worker = FakeWorker(client, tmp_path)
        await joined(worker)
        await worker.push(drafter(0.5))
        await at_version(worker, 1)
        write_settings(tmp_path / "settings.json", generation=2, outer_learning_rate=0.5)
        await shown(client, lambda state: state.settings_generation == 2)
        await worker.push(drafter(0.5))
        await at_version(worker, 2)
        _, first = await worker.pull(1)
        _, second = await worker.pull(2)

    np.testing.assert_array_equal(first["b.weight"], np.full(5, 0.5, np.float32))
    np.testing.assert_array_equal(second["b.weight"], np.full(5, 0.25, np.float32))


async def test_a_shorter_lease_ends_that_of_a_worker_that_is_gone(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(DEADLINE_SECONDS),
        aggregator(tmp_path, lease_seconds=3600.0) as client,
    ):
        await joined(FakeWorker(client, tmp_path, "gone"))
        write_settings(tmp_path / "settings.json", generation=2, lease_seconds=0.5)
        state = await shown(client, lambda state: state.live_workers == 0)

    assert state.settings_generation == 2
    assert [worker.live for worker in state.workers] == [False]


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        pytest.param({"fleet_uid": "uid-2", "generation": 9}, "fleetUid: is uid-2", id="foreign"),
        pytest.param({"generation": 0}, "generation: is 0", id="older"),
    ],
)
async def test_watchers_see_why_the_newest_settings_are_not_in_force(
    tmp_path: Path, changes: dict[str, object], error: str
) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS), aggregator(tmp_path, local_steps=5) as client:
        worker = FakeWorker(client, tmp_path)
        await joined(worker)
        write_settings(tmp_path / "settings.json", local_steps=7, **changes)
        refused = await shown(client, lambda state: bool(state.settings_error))
        reply = await worker.heartbeat()
        write_settings(tmp_path / "settings.json", local_steps=8, generation=2)
        mended = await shown(client, lambda state: not state.settings_error)

    assert refused.settings_error.startswith(error)
    assert refused.settings_generation == 1
    assert reply.orders.local_steps == 5
    assert mended.settings_generation == 2
