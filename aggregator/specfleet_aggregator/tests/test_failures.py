"""What goes wrong around the aggregator, and what must come of it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from specfleet_aggregator.tests.builders import (
    LINEAGE,
    STOCK_DIGEST,
    FakeWorker,
    aggregator,
    at_version,
    drafter,
    header,
    joined,
    published_in,
    serving,
    settings,
)
from specfleet_aggregator.tests.stores import FlakyStore
from specfleet_common.store.directory import DirectoryStore
from specfleet_common.store.owner import claim
from specfleet_common.tensors import content_digest, encode
from specfleet_common.wire.client import AggregatorClient, Refused, Unreachable
from specfleet_common.wire.messages import FleetState, Outcome

_DEADLINE_SECONDS = 30.0


@asynccontextmanager
async def on_a_flaky_store(
    directory: Path, *, broken: str = ""
) -> AsyncIterator[tuple[FlakyStore, FakeWorker]]:
    store = FlakyStore(directory / "store")
    store.broken = broken
    async with (
        asyncio.timeout(_DEADLINE_SECONDS),
        serving(settings(directory), store) as client,
    ):
        yield store, FakeWorker(client, directory)


async def state_with_error(client: AggregatorClient, error: str = "") -> FleetState:
    """Watch until a failure of the store shows."""
    states = client.watch_state()
    async for state in states:
        if state.store_error and error in state.store_error:
            await states.aclose()
            return state
    raise AssertionError("the stream ended")


async def test_a_version_that_cannot_be_fetched_shows_until_it_can_be(tmp_path: Path) -> None:
    async with on_a_flaky_store(tmp_path) as (store, worker):
        await joined(worker)
        await worker.push(drafter(0.5))
        await at_version(worker, 1)

        store.broken = "connection refused"
        with pytest.raises(Unreachable, match="connection refused"):
            await worker.pull(1)
        await state_with_error(worker.client, "connection refused")

        store.broken = ""
        await worker.pull(1)
        states = worker.client.watch_state()
        async for state in states:
            if not state.store_error:
                break
        await states.aclose()


async def test_a_failing_store_keeps_the_round_and_its_deltas(tmp_path: Path) -> None:
    async with on_a_flaky_store(tmp_path) as (store, worker):
        await joined(worker)
        store.broken = "disk is full"
        pushed = await worker.push(drafter(0.5))
        state = await state_with_error(worker.client)
        meanwhile = await worker.heartbeat()
        store.broken = ""
        after = await at_version(worker, 1)

    assert pushed.outcome is Outcome.ACCEPTED
    assert state.store_error == "disk is full"
    assert (meanwhile.round, meanwhile.delta_counted) == (0, True)
    assert after.base is not None
    assert after.base.number == 1


async def test_a_store_that_is_down_at_the_start_is_asked_again(tmp_path: Path) -> None:
    async with on_a_flaky_store(tmp_path, broken="no route") as (store, worker):
        before = await worker.heartbeat()
        with pytest.raises(Unreachable, match="no route"):
            await worker.put_stock()
        store.broken = ""
        while not (await worker.heartbeat()).stock_wanted:
            pass
        after = await joined(worker)

    assert (before.stock_wanted, before.base) == (False, None)
    assert after.base is not None


async def test_nothing_is_written_to_the_store_of_another_fleet(tmp_path: Path) -> None:
    claim(DirectoryStore(tmp_path / "store"), "other")

    async with on_a_flaky_store(tmp_path) as (_, worker):
        with pytest.raises(Unreachable, match="belongs to fleet other, this is fleet fleet"):
            await worker.put_stock()

    assert [path.name for path in (tmp_path / "store").iterdir()] == ["owner.json"]


async def test_a_damaged_version_is_replaced_by_the_one_before_under_a_new_number(
    tmp_path: Path,
) -> None:
    async with asyncio.timeout(_DEADLINE_SECONDS):
        async with aggregator(tmp_path) as client:
            worker = FakeWorker(client, tmp_path)
            await joined(worker)
            await worker.push(drafter(0.5))
            await at_version(worker, 1)
        (damaged,) = (tmp_path / "store" / LINEAGE.id / "versions" / "1").glob("drafter*")
        damaged.write_bytes(damaged.read_bytes()[:-1])
        async with aggregator(tmp_path) as client:
            worker = FakeWorker(client, tmp_path)
            back = await joined(worker)
            await worker.push(drafter(0.25))
            after = await at_version(worker, 2)

    assert back.base is not None
    assert (back.base.number, back.round) == (0, 1)
    assert after.base is not None
    assert (after.base.number, after.round) == (2, 2)


async def test_a_version_damaged_after_publication_is_given_up_when_a_pull_finds_out(
    tmp_path: Path,
) -> None:
    async with asyncio.timeout(_DEADLINE_SECONDS), aggregator(tmp_path) as client:
        worker = FakeWorker(client, tmp_path)
        await joined(worker)
        await worker.push(drafter(0.5))
        await at_version(worker, 1)
        (lost,) = (tmp_path / "store" / LINEAGE.id / "versions" / "1").glob("drafter*")
        lost.unlink()
        with pytest.raises(Unreachable, match="is missing"):
            await worker.pull(1)
        back = await at_version(worker, 0)

    assert back.base is not None
    assert (back.base.number, back.round) == (0, 1)


async def test_a_damaged_version_that_no_round_starts_from_disturbs_none(tmp_path: Path) -> None:
    async with asyncio.timeout(_DEADLINE_SECONDS), aggregator(tmp_path) as client:
        worker = FakeWorker(client, tmp_path)
        await joined(worker)
        await worker.push(drafter(0.5))
        before = await at_version(worker, 1)
        (lost,) = (tmp_path / "store" / LINEAGE.id / "versions" / "0").glob("drafter*")
        lost.unlink()
        with pytest.raises(Unreachable, match="is missing"):
            await worker.pull(0)
        after = await worker.heartbeat()

    assert (after.base, after.round) == (before.base, before.round)


async def test_a_store_whose_directory_was_away_is_read_again(tmp_path: Path) -> None:
    store, away = tmp_path / "store", tmp_path / "away"
    async with asyncio.timeout(_DEADLINE_SECONDS), aggregator(tmp_path) as client:
        worker = FakeWorker(client, tmp_path)
        before = await joined(worker)
        store.rename(away)
        await worker.push(drafter(0.5))
        await state_with_error(client, "is its directory mounted?")
        away.rename(store)
        after = await at_version(worker, 0)

    assert (after.base, after.round) == (before.base, before.round)


async def test_a_version_whose_ledger_entry_failed_has_closed_its_round(tmp_path: Path) -> None:
    with capture_logs() as logs:
        async with on_a_flaky_store(tmp_path) as (store, worker):
            await joined(worker)
            store.where, store.broken = "/ledger/", "disk is full"
            await worker.push(drafter(0.5))
            await state_with_error(worker.client)
            late = await FakeWorker(worker.client, tmp_path, "late").push_bytes(
                encode(drafter(0.25)), 0, 0
            )
            store.broken = ""
            await at_version(worker, 1)

    assert late.outcome is Outcome.STALE
    assert "version_taken" not in [entry["event"] for entry in logs]
    entries = published_in(DirectoryStore(tmp_path / "store"))
    assert [entry.number for entry in entries] == [0, 1]


async def test_the_first_worker_back_after_a_restart_does_not_close_the_round_alone(
    tmp_path: Path,
) -> None:
    async with asyncio.timeout(_DEADLINE_SECONDS):
        async with aggregator(tmp_path) as client:
            await joined(FakeWorker(client, tmp_path))
        async with aggregator(tmp_path) as client:
            workers = [FakeWorker(client, tmp_path, name) for name in "abcde"]
            replies = []
            for worker in workers:
                await joined(worker)
                replies.append(await worker.push(drafter(0.5)))
            await at_version(workers[0], 1)

    assert {reply.outcome for reply in replies} == {Outcome.ACCEPTED}
    entries = published_in(DirectoryStore(tmp_path / "store"))
    assert [entry.deltas for entry in entries] == [0, 5]


class WatchingStore(DirectoryStore):
    """Notes, whenever it is listed, whether a port answers."""

    def __init__(self, root: Path, port: int) -> None:
        super().__init__(root)
        self._port = port
        self.answers: list[bool] = []

    def list(self, path: str) -> list[str]:
        self.answers.append(answers(self._port))
        return super().list(path)


def answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


async def test_metrics_are_served_only_once_calls_are(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    store = WatchingStore(tmp_path / "store", port)

    async with serving(settings(tmp_path, metrics_port=port), store):
        after = answers(port)

    assert store.answers == [False]
    assert after


async def test_a_publisher_that_died_before_the_ledger_is_made_up_for(tmp_path: Path) -> None:
    async with asyncio.timeout(_DEADLINE_SECONDS):
        async with aggregator(tmp_path) as client:
            await joined(FakeWorker(client, tmp_path))
        (tmp_path / "store" / LINEAGE.id / "ledger" / "0.json").unlink()
        async with aggregator(tmp_path) as client:
            await joined(FakeWorker(client, tmp_path))

    entries = published_in(DirectoryStore(tmp_path / "store"))
    assert [(entry.number, entry.digest) for entry in entries] == [(0, STOCK_DIGEST)]


async def test_a_dead_worker_holds_a_round_only_until_its_lease_ends(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(_DEADLINE_SECONDS),
        aggregator(tmp_path, quorum_percent=100, lease_seconds=1.0) as client,
    ):
        dies, lives = FakeWorker(client, tmp_path, "dies"), FakeWorker(client, tmp_path, "lives")
        await joined(dies)
        await joined(lives)
        await lives.push(drafter(0.5))
        held = await lives.heartbeat()
        after = await at_version(lives, 1)

    assert held.round == 0
    assert after.round == 1


async def test_an_upload_that_breaks_off_counts_for_nothing(tmp_path: Path) -> None:
    async with asyncio.timeout(_DEADLINE_SECONDS), aggregator(tmp_path) as client:
        worker = FakeWorker(client, tmp_path)
        await joined(worker)
        whole = encode(drafter(0.5))
        path = tmp_path / "half"
        path.write_bytes(whole[: len(whole) // 2])
        announced = header(worker.worker_id, data=whole, digest=content_digest(whole))
        with pytest.raises(Refused, match="bytes came"):
            await client.push_delta(announced, path)
        between = await worker.heartbeat()
        reply = await worker.push(drafter(0.5))

    assert not between.delta_counted
    assert reply.outcome is Outcome.ACCEPTED
