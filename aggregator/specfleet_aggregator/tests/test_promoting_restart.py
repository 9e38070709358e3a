"""Promotions that outlive their aggregator, or have two."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from specfleet_aggregator.promotion.tests.worlds import kinds
from specfleet_aggregator.tests.builders import (
    LINEAGE,
    aggregator,
)
from specfleet_aggregator.tests.promoting import (
    QUICK,
    Engine,
    all_told,
    decided,
    engines_of,
    fleet_with_a_candidate,
    ledger,
    one_that_compares,
    stable_is,
    until,
)
from specfleet_common.store.directory import DirectoryStore
from specfleet_common.store.entries import PromotionEnded, PromotionOpened
from specfleet_common.store.ledger import Ledger

_DEADLINE_SECONDS = 60.0


@pytest.mark.parametrize("phase", ["promotion_opened", "Replay", "Canary", "Rolling"])
async def test_an_aggregator_that_restarts_goes_on_and_decides_nothing_twice(
    tmp_path: Path, phase: str
) -> None:
    async with asyncio.timeout(_DEADLINE_SECONDS):
        async with fleet_with_a_candidate(tmp_path, "a", "b", pauseSeconds=2.0) as engines:
            if phase != "promotion_opened":
                await engines[0].walk(gain=0.05, count=20 if phase == "Replay" else 60)
            if phase == "Rolling":
                canary = await one_that_compares(engines)
                await canary.compare(effect=0.05)
            await decided(engines, tmp_path, phase)
        async with engines_of(tmp_path, "a", "b") as engines:
            if phase in ("promotion_opened", "Replay"):
                await engines[0].walk(gain=0.05)
            if phase != "Rolling":
                canary = await one_that_compares(engines)
                await canary.compare(effect=0.05)
            await all_told(engines, stable_is(1))

    assert kinds(ledger(tmp_path)) == [
        "promotion_opened",
        "Replay",
        "Canary",
        "Rolling",
        "Promoted",
    ]


async def test_an_engine_that_was_rolled_goes_on_without_a_break_when_the_aggregator_restarts(
    tmp_path: Path,
) -> None:
    async with asyncio.timeout(_DEADLINE_SECONDS):
        async with fleet_with_a_candidate(tmp_path, "a", "b", pauseSeconds=1000.0) as engines:
            await engines[0].walk(gain=0.05)
            canary = await one_that_compares(engines)
            rolled = next(engine for engine in engines if engine is not canary)
            await canary.compare(effect=0.05)
            before = await until(rolled, lambda reply: reply.serve is not None)
            await rolled.heartbeat()
        async with aggregator(tmp_path, promotion={**QUICK, "pauseSeconds": 1000.0}) as client:
            rolled.client = client
            after = await rolled.heartbeat()
            late = await Engine(client, tmp_path, "late").heartbeat()

    assert after.serve == before.serve
    assert (late.serve, late.comparison) == (None, None)


async def test_a_decision_made_on_an_old_ledger_is_made_anew(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(_DEADLINE_SECONDS),
        fleet_with_a_candidate(tmp_path, "a") as (engine,),
    ):
        await until(engine, lambda reply: reply.walk is not None)
        opened = ledger(tmp_path)[0]
        assert isinstance(opened, PromotionOpened)
        elsewhere = Ledger(DirectoryStore(tmp_path / "store"), LINEAGE.id)
        ended = PromotionEnded(
            "promotion_ended", 1.0, opened.promotion, "Aborted", "Pending", "", "", 0, False
        )
        assert elsewhere.append_at(len(elsewhere.entries()), ended)
        await engine.walk(gain=0.05)
        await until(engine, lambda reply: reply.walk is None)

    assert kinds(ledger(tmp_path)) == ["promotion_opened", "Aborted"]
