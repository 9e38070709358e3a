"""The service over a real connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from structlog.testing import capture_logs

from specfleet_aggregator.tests.builders import (
    LINEAGE,
    STOCK_DIGEST,
    FakeWorker,
    aggregator,
    at_version,
    beat,
    drafter,
    header,
    joined,
    published_in,
)
from specfleet_common.store.directory import DirectoryStore
from specfleet_common.tensors import encode
from specfleet_common.wire.client import AggregatorClient, Refused, Unreachable
from specfleet_common.wire.messages import FleetState, Outcome

_DEADLINE_SECONDS = 20.0


@asynccontextmanager
async def fleet_of(
    directory: Path, *names: str, **changes: object
) -> AsyncIterator[list[FakeWorker]]:
    """Run an aggregator with workers that have joined it."""
    async with asyncio.timeout(_DEADLINE_SECONDS), aggregator(directory, **changes) as client:
        workers = [FakeWorker(client, directory, name) for name in names]
        for worker in workers:
            await joined(worker)
        for worker in workers:
            await worker.heartbeat()
        yield workers


def named(logs: Sequence[Mapping[str, object]]) -> set[tuple[object, object]]:
    """Return the workers whose deltas were logged, with what became of them."""
    return {(one["worker"], one["outcome"]) for one in logs if one["event"] == "delta_received"}


async def test_the_first_worker_hands_in_version_0(tmp_path: Path) -> None:
    async with asyncio.timeout(_DEADLINE_SECONDS), aggregator(tmp_path) as client:
        worker = FakeWorker(client, tmp_path)
        before = await worker.heartbeat()
        version = await worker.put_stock()
        after = await worker.heartbeat()

    assert before.stock_wanted
    assert before.base is None
    assert (version.number, version.digest) == (0, STOCK_DIGEST)
    assert (after.base, after.stable, after.round) == (version, version, 0)
    assert not after.stock_wanted


async def test_the_same_stock_again_is_harmless_and_another_is_refused(tmp_path: Path) -> None:
    async with fleet_of(tmp_path, "one") as (one,):
        again = await one.put_stock()
        one.stock = encode(drafter(2.0), "bfloat16")
        with pytest.raises(Refused) as pushed:
            await one.put_stock()
        with pytest.raises(Refused) as reported:
            await one.heartbeat()

    assert again.digest == STOCK_DIGEST
    assert "all engines of a fleet need the same drafter weights" in pushed.value.reason
    assert "all engines of a fleet need the same drafter weights" in reported.value.reason


async def test_a_stock_that_is_not_of_its_lineage_is_refused(tmp_path: Path) -> None:
    async with asyncio.timeout(_DEADLINE_SECONDS), aggregator(tmp_path) as client:
        worker = FakeWorker(client, tmp_path, stock=encode(drafter(), "float32"))
        await worker.heartbeat()
        with pytest.raises(Refused, match="dtype is float32, expected bfloat16"):
            await worker.put_stock()


async def test_a_quorum_makes_the_next_version_from_the_mean(tmp_path: Path) -> None:
    async with fleet_of(tmp_path, "one", "two", "three") as (one, two, three):
        first = await one.push(drafter(0.25))
        second = await two.push(drafter(0.75))
        reply = await at_version(three, 1)
        version, weights = await three.pull(1)

    assert (first.outcome, second.outcome) == (Outcome.ACCEPTED, Outcome.ACCEPTED)
    assert reply.base == version
    assert reply.round == 1
    np.testing.assert_array_equal(weights["a.weight"], np.full((3, 4), 0.5, np.float32))
    entries = published_in(DirectoryStore(tmp_path / "store"))
    assert [(entry.number, entry.digest, entry.deltas) for entry in entries] == [
        (0, STOCK_DIGEST, 0),
        (1, version.digest, 2),
    ]


async def test_a_repeated_delta_counts_once(tmp_path: Path) -> None:
    async with fleet_of(tmp_path, "one", "two", quorum_percent=100) as (one, _two):
        await one.push(drafter(0.25))
        again = await one.push(drafter(0.25))
        other = await one.push(drafter(0.5))
        reply = await one.heartbeat()

    assert (again.outcome, other.outcome) == (Outcome.DUPLICATE, Outcome.DUPLICATE)
    assert reply.delta_counted
    assert reply.round == 0


async def test_a_delta_of_a_closed_round_is_stale_and_its_worker_named(
    tmp_path: Path,
) -> None:
    with capture_logs() as logs:
        async with fleet_of(tmp_path, "one", "two", quorum_percent=50) as (one, two):
            await one.push(drafter(0.25))
            await at_version(one, 1)
            late = await two.push(drafter(0.25))

    assert late.outcome is Outcome.STALE
    assert "round 1 from version 1 is open" in late.reason
    assert ("two", "stale") in named(logs)


async def test_a_delta_of_another_lineage_is_foreign_and_its_worker_named(
    tmp_path: Path,
) -> None:
    data, path = encode(drafter()), tmp_path / "delta"
    path.write_bytes(data)
    elsewhere = replace(LINEAGE, target_digest="e" * 64)
    head = replace(header("one", data=data), lineage_id=elsewhere.id)

    with capture_logs() as logs:
        async with fleet_of(tmp_path, "one") as (one,):
            reply = await one.client.push_delta(head, path)

    assert reply.outcome is Outcome.FOREIGN
    assert ("one", "foreign") in named(logs)


@pytest.mark.parametrize(
    ("delta", "reason"),
    [
        pytest.param(drafter(np.nan), "some values are not finite", id="nan"),
        pytest.param(drafter(1e4), "times that of the parameters", id="absurd-norm"),
        pytest.param(
            {**drafter(), "b.weight": np.ones(6, np.float32)}, "shape is (6,)", id="shape"
        ),
        pytest.param({"a.weight": drafter()["a.weight"]}, "missing ['b.weight']", id="missing"),
    ],
)
async def test_a_poisoned_delta_is_refused_and_its_worker_named(
    tmp_path: Path, delta: dict[str, np.ndarray], reason: str
) -> None:
    async with fleet_of(tmp_path, "one") as (one,):
        reply = await one.push(delta)
        states = one.client.watch_state()
        state = await anext(states)
        await states.aclose()

    assert reply.outcome is Outcome.REFUSED
    assert reason in reply.reason
    assert [(worker.refused_deltas, worker.refusal) for worker in state.workers] == [
        (1, reply.reason)
    ]
    assert state.base is not None
    assert state.base.number == 0


async def test_a_delta_with_the_wrong_digest_is_refused(tmp_path: Path) -> None:
    async with fleet_of(tmp_path, "one") as (one,):
        reply = await one.push_bytes(encode(drafter()), 0, 0, digest="a" * 64)

    assert reply.outcome is Outcome.REFUSED
    assert "expected aaaaaaaa" in reply.reason


async def test_a_delta_that_is_too_large_is_refused_before_it_is_received(tmp_path: Path) -> None:
    async with fleet_of(tmp_path, "one") as (one,):
        # The announcement is enough; a long upload may end in another error when it is cut off.
        announced = replace(header(one.worker_id), size_bytes=6 << 20)
        (tmp_path / "delta").write_bytes(b"x")
        with pytest.raises(Refused, match="size_bytes"):
            await one.client.push_delta(announced, tmp_path / "delta")


async def test_a_version_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    async with fleet_of(tmp_path, "one") as (one,):
        with pytest.raises(Refused, match="version 7 of lineage"):
            await one.pull(7)


async def test_nobody_listening_is_unreachable(tmp_path: Path) -> None:
    async with asyncio.timeout(_DEADLINE_SECONDS), AggregatorClient("127.0.0.1:1") as client:
        stranded = FakeWorker(client, tmp_path)
        with pytest.raises(Unreachable, match="UNAVAILABLE"):
            await stranded.heartbeat()


async def test_watchers_see_the_fleet_at_once_and_after_every_change(tmp_path: Path) -> None:
    seen: list[FleetState] = []
    async with asyncio.timeout(_DEADLINE_SECONDS), aggregator(tmp_path) as client:
        states = client.watch_state()
        seen.append(await anext(states))
        worker = FakeWorker(client, tmp_path)
        await joined(worker)
        await worker.push(drafter(0.5))
        async for state in states:
            seen.append(state)
            if state.base is not None and state.base.number == 1:
                break
        await states.aclose()

    assert seen[0].lineage is None
    assert seen[0].reason == "no worker has reported"
    assert seen[-1].lineage == LINEAGE
    assert seen[-1].live_workers == 1
    assert [worker.worker_id for worker in seen[-1].workers] == ["w"]


async def test_a_worker_whose_engine_cannot_be_adapted_is_shown_with_its_reason_until_it_can(
    tmp_path: Path,
) -> None:
    broken = replace(
        beat("broken", lineage=None, stock_digest=""), engine_problem="OSError: no room"
    )
    async with fleet_of(tmp_path, "one") as (one,):
        reply = await one.client.heartbeat(broken)
        states = one.client.watch_state()
        before = await anext(states)
        await one.client.heartbeat(beat("broken"))
        after = await anext(states)
        await states.aclose()

    assert (reply.stock_wanted, reply.base) == (False, None)
    problems = {worker.worker_id: worker.engine_problem for worker in before.workers}
    assert problems == {"broken": "OSError: no room", "one": ""}
    assert (before.live_workers, after.live_workers) == (1, 2)
    assert [worker.engine_problem for worker in after.workers] == ["", ""]


async def test_a_fleet_none_of_whose_engines_can_be_adapted_says_so(tmp_path: Path) -> None:
    broken = replace(
        beat("broken", lineage=None, stock_digest=""), engine_problem="OSError: no room"
    )
    async with asyncio.timeout(_DEADLINE_SECONDS), aggregator(tmp_path) as client:
        await client.heartbeat(broken)
        states = client.watch_state()
        seen = await anext(states)
        await states.aclose()

    assert seen.lineage is None
    assert [(worker.live, worker.engine_problem) for worker in seen.workers] == [
        (True, "OSError: no room")
    ]


async def test_a_worker_that_changes_its_lineage_leaves_the_old_one(tmp_path: Path) -> None:
    async with fleet_of(tmp_path, "one") as (one,):
        one.lineage = replace(LINEAGE, target_digest="e" * 64)
        reply = await one.heartbeat()
        states = one.client.watch_state()
        shown = {state.lineage: state async for state in _take(states, 2)}
        await states.aclose()

    assert reply.stock_wanted
    assert shown[LINEAGE].workers == ()
    assert len(shown[one.lineage].workers) == 1


async def _take(states: AsyncIterator[FleetState], number: int) -> AsyncIterator[FleetState]:
    for _ in range(number):
        yield await anext(states)
