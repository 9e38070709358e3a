"""What becomes of evidence that workers hand in."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from specfleet_aggregator.promotion.tests.worlds import kinds
from specfleet_aggregator.tests.builders import LINEAGE, drafter, serving, settings
from specfleet_aggregator.tests.promoting import (
    QUICK,
    decided,
    engines_at,
    fleet_with_a_candidate,
    ledger,
    until,
)
from specfleet_aggregator.tests.stores import FlakyStore
from specfleet_common.judge.tests.building import walks
from specfleet_common.store import evidence
from specfleet_common.store.directory import DirectoryStore
from specfleet_common.wire.client import Unreachable
from specfleet_common.wire.messages import Evidence

_DEADLINE_SECONDS = 30.0


async def test_calls_that_come_together_share_an_entry_and_each_is_stored_when_it_is_answered(
    tmp_path: Path,
) -> None:
    store = DirectoryStore(tmp_path / "store")
    async with (
        asyncio.timeout(_DEADLINE_SECONDS),
        fleet_with_a_candidate(tmp_path, "a", minimumGain=0.9) as (engine,),
    ):
        reply = await until(engine, lambda reply: reply.walk is not None)
        assert reply.walk is not None
        set_ = reply.walk.promotion
        given = walks(20)
        calls = [engine.hand_in(set_, walks=[walk]) for walk in given]
        answers = await asyncio.gather(*calls)
        stored = evidence.batches(store, LINEAGE.id, set_)
        again = await engine.hand_in(set_, walks=given)
        after = evidence.batches(store, LINEAGE.id, set_)

    assert {(answer.wanted, answer.reason) for answer in answers} == {(True, "stored")}
    assert len(stored) <= 3
    assert sorted(walk for batch in stored for walk in batch.records.walks) == sorted(given)
    assert (again.wanted, again.reason) == (True, "nothing new")
    assert after == stored


async def test_evidence_for_what_is_not_open_is_not_wanted(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(_DEADLINE_SECONDS),
        fleet_with_a_candidate(tmp_path, "a") as (engine,),
    ):
        answer = await engine.hand_in("9-abc", walks=walks(1))

    assert (answer.wanted, answer.reason) == (False, "9-abc is not open")


async def test_evidence_for_a_lineage_that_is_not_known_yet_is_sent_again(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(_DEADLINE_SECONDS),
        fleet_with_a_candidate(tmp_path, "a") as (engine,),
    ):
        elsewhere = replace(LINEAGE, target_digest="e" * 64)
        handed_in = Evidence(engine.worker_id, elsewhere.id, "1-abc")
        with pytest.raises(Unreachable, match="has not been read yet"):
            await engine.client.put_evidence(handed_in)


async def test_a_store_that_fails_takes_no_evidence_and_decides_nothing(tmp_path: Path) -> None:
    store = FlakyStore(tmp_path / "store")
    async with (
        asyncio.timeout(_DEADLINE_SECONDS),
        serving(settings(tmp_path, quorum_percent=1, promotion=QUICK), store) as client,
    ):
        (engine,) = await engines_at(client, tmp_path, "a")
        await engine.push(drafter(0.5))
        reply = await until(engine, lambda reply: reply.walk is not None)
        store.broken = "disk is full"
        with pytest.raises(Unreachable, match="disk is full"):
            await engine.walk(gain=0.05)
        meanwhile = await engine.heartbeat()
        store.where = "/ledger/"
        await engine.walk(gain=0.05)
        undecided = kinds(ledger(tmp_path))
        store.broken = ""
        await decided([engine], tmp_path, "Canary")

    assert meanwhile.walk == reply.walk
    assert undecided == ["promotion_opened"]
    assert kinds(ledger(tmp_path)) == ["promotion_opened", "Replay", "Canary"]
