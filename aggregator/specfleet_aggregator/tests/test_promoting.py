"""Promotions over a real connection, with a directory as the store."""

from __future__ import annotations

import asyncio
from pathlib import Path

from specfleet_aggregator.promotion.tests.worlds import kinds
from specfleet_aggregator.tests.builders import (
    LINEAGE,
    STOCK_DIGEST,
    drafter,
    published_in,
)
from specfleet_aggregator.tests.promoting import (
    Engine,
    all_told,
    blocks,
    decide,
    decided,
    engines_of,
    fleet_with_a_candidate,
    is_on_no_trial,
    ledger,
    one_that_compares,
    stable_is,
    until,
)
from specfleet_common.judge.records import united
from specfleet_common.judge.rejudging import canonical, rejudge
from specfleet_common.store import evidence
from specfleet_common.store.directory import DirectoryStore
from specfleet_common.store.entries import PromotionEnded, PromotionOpened

_DEADLINE_SECONDS = 60.0


async def test_a_better_version_becomes_stable_on_all_engines(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(_DEADLINE_SECONDS),
        fleet_with_a_candidate(tmp_path, "a", "b", "c") as engines,
    ):
        await engines[0].walk(gain=0.05)
        canary = await one_that_compares(engines)
        await canary.compare(effect=0.05)
        await all_told(engines, stable_is(1))
        states = engines[0].client.watch_state()
        async for state in states:
            # The verdict is read from the store a moment after the decision.
            if state.promotions[0].effects:
                break
        await states.aclose()

    entries = ledger(tmp_path)
    assert kinds(entries) == ["promotion_opened", "Replay", "Canary", "Rolling", "Promoted"]
    assert {engine.observed for engine in engines} == {state.stable.digest if state.stable else ""}
    (promotion,) = state.promotions
    assert (promotion.phase, promotion.outcome) == ("Done", "Promoted")
    assert promotion.sentence.startswith("All live engines run it. Passed: candidate over stable")
    assert promotion.effects[0].lower > -0.01


async def test_every_verdict_can_be_made_again_from_what_is_stored(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(_DEADLINE_SECONDS),
        fleet_with_a_candidate(tmp_path, "a") as (engine,),
    ):
        await engine.walk(gain=0.05)
        await engine.compare(effect=0.05)
        await decided([engine], tmp_path, "Promoted")

    store = DirectoryStore(tmp_path / "store")
    opened, *rest = ledger(tmp_path)
    assert isinstance(opened, PromotionOpened)
    verdicts = evidence.verdicts(store, LINEAGE.id, opened.promotion)
    assert {verdict.phase for verdict in verdicts} == {"Replay", "Canary", "Rolling"}
    named = {getattr(entry, "evidence", "") for entry in rest} - {""}
    assert {verdict.evidence for verdict in verdicts} == named
    for verdict in verdicts:
        batches = evidence.read_batches(store, LINEAGE.id, verdict.set, verdict.entries)
        records = united(batch.records for batch in batches)
        again = rejudge(opened, records, phase=verdict.phase, stock_digest=verdict.stock_digest)
        assert canonical(again) == verdict.judgement_bytes
        assert evidence.digest(records) == verdict.evidence


async def test_a_harmful_version_is_rejected_and_training_begins_again_from_stable(
    tmp_path: Path,
) -> None:
    async with asyncio.timeout(_DEADLINE_SECONDS):
        async with fleet_with_a_candidate(tmp_path, "a") as (engine,):
            before = await engine.heartbeat()
            await engine.walk(gain=-0.05)
            restarted = await until(engine, lambda reply: reply.orders.fresh == 1)
        async with engines_of(tmp_path, "a", minimumRounds=10) as (engine,):
            again = await engine.heartbeat()
            await engine.push(drafter(0.25))
            after = await until(
                engine, lambda reply: reply.base is not None and reply.base.number == 2
            )

    assert kinds(ledger(tmp_path)) == [
        "promotion_opened",
        "Replay",
        "Rejected",
        "training_restarted",
    ]
    assert (before.base.number if before.base else None, before.orders.fresh) == (1, 0)
    assert (restarted.base, restarted.round) == (before.stable, 1)
    assert (again.base, again.round, again.orders.fresh) == (before.stable, 1, 1)
    assert after.orders.fresh == 1
    newest = published_in(DirectoryStore(tmp_path / "store"))[-1]
    assert (newest.number, newest.parent) == (2, 0)


async def test_a_version_that_live_guards_stop_is_taken_back(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(_DEADLINE_SECONDS),
        fleet_with_a_candidate(tmp_path, "a", "b") as engines,
    ):
        await engines[0].walk(gain=0.05)
        canary = await one_that_compares(engines)
        await canary.compare(effect=0.05, slower=1.0)
        await decided(engines, tmp_path, "Rejected")
        await all_told(engines, is_on_no_trial)

    (ended,) = (entry for entry in ledger(tmp_path) if isinstance(entry, PromotionEnded))
    assert (ended.phase, ended.harmful) == ("Canary", True)
    assert "time per output token rose by +100.00 %" in ended.sentence
    assert {engine.observed for engine in engines} == {STOCK_DIGEST}


async def test_a_breach_while_it_rolls_takes_all_engines_back(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(_DEADLINE_SECONDS),
        fleet_with_a_candidate(tmp_path, "a", "b", "c", pauseSeconds=1000.0) as engines,
    ):
        await engines[0].walk(gain=0.05)
        canary = await one_that_compares(engines)
        comparison = canary.replies[-1].comparison
        await canary.compare(effect=0.05)
        others = [engine for engine in engines if engine is not canary]
        rolled: list[Engine] = []
        while not rolled:
            rolled = [one for one in others if (await one.heartbeat()).serve is not None]
        late = Engine(canary.client, tmp_path, "late")
        newcomer = await late.heartbeat()
        await canary.compare(effect=0.05, slower=1.0, pairs=60)
        await decided(engines, tmp_path, "Rejected")
        await all_told(engines, is_on_no_trial)

    assert comparison is not None
    assert len(rolled) == 1
    assert (newcomer.serve, newcomer.comparison) == (None, None)
    assert {engine.observed for engine in engines} == {STOCK_DIGEST}
    assert kinds(ledger(tmp_path))[3:5] == ["Rolling", "Rejected"]


async def test_a_user_ends_a_promotion_in_its_canary(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(_DEADLINE_SECONDS),
        fleet_with_a_candidate(tmp_path, "a") as (engine,),
    ):
        await engine.walk(gain=0.05)
        reply = await until(engine, lambda reply: reply.comparison is not None)
        assert reply.comparison is not None
        decide(tmp_path, reply.comparison.id, "Abort")
        after = await until(engine, lambda reply: reply.comparison is None)
        await decided([engine], tmp_path, "Aborted")
        # Asked again, because the aggregator reads what the ledger says a moment later.
        while (await engine.hand_in(reply.comparison.id)).wanted:
            await engine.heartbeat()

    assert after.stable is not None
    assert after.stable.number == 0


async def test_manual_mode_waits_for_a_user(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(_DEADLINE_SECONDS),
        fleet_with_a_candidate(tmp_path, "a", mode="Manual") as (engine,),
    ):
        await engine.walk(gain=0.05)
        await engine.compare(effect=0.05)
        async for state in engine.client.watch_state():
            await engine.heartbeat()
            if state.promotions and state.promotions[0].waits_for_approval:
                break
        decide(tmp_path, state.promotions[0].id, "Approve", mode="Manual")
        await decided([engine], tmp_path, "Promoted")

    assert kinds(ledger(tmp_path)) == [
        "promotion_opened",
        "Replay",
        "Canary",
        "Canary",
        "Rolling",
        "Promoted",
    ]


async def test_a_stable_version_that_is_worse_than_stock_is_withdrawn(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(_DEADLINE_SECONDS),
        fleet_with_a_candidate(tmp_path, "a") as (engine,),
    ):
        await engine.walk(gain=0.05)
        await engine.compare(effect=0.05)
        await all_told([engine], stable_is(1))
        reply = await until(engine, lambda reply: reply.comparison is not None)
        assert reply.comparison is not None
        await engine.hand_in(reply.comparison.id, blocks=blocks(reply.comparison, "a", effect=-0.1))
        await all_told([engine], stable_is(0))
        states = engine.client.watch_state()
        state = await anext(states)
        await states.aclose()

    assert reply.comparison.id.endswith("-after")
    assert (reply.comparison.base.number, reply.comparison.one_pair_in) == (0, 20)
    assert "stable_withdrawn" in kinds(ledger(tmp_path))
    assert state.promotions[0].outcome == "RolledBack"
    assert state.promotions[0].sentence.startswith("Harmful: stable over stock")


async def test_a_pinned_version_is_what_engines_serve(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(_DEADLINE_SECONDS),
        fleet_with_a_candidate(tmp_path, "a", pin=1) as (engine,),
    ):
        reply = await until(engine, stable_is(1))

    assert reply.walk is None
    assert ledger(tmp_path) == []


async def test_a_pin_on_a_version_that_is_missing_is_told_and_stable_stays(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(_DEADLINE_SECONDS),
        fleet_with_a_candidate(tmp_path, "a", pin=7) as (engine,),
    ):
        await until(engine, stable_is(0))
        async for state in engine.client.watch_state():
            if state.settings_error:
                break

    assert state.settings_error == (
        "promotion.pin: is 7, expected a version that is in the store; engines serve what is"
        " stable, version 0"
    )


async def test_a_candidate_without_evidence_is_given_up(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(_DEADLINE_SECONDS),
        fleet_with_a_candidate(tmp_path, "a", replaySeconds=1.0) as (engine,),
    ):
        await decided([engine], tmp_path, "Inconclusive")

    ended = ledger(tmp_path)[-1]
    assert isinstance(ended, PromotionEnded)
    assert ended.sentence == "No evidence within 1 s."


async def test_an_engine_that_reports_another_digest_is_never_counted(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(_DEADLINE_SECONDS),
        fleet_with_a_candidate(tmp_path, "a", "b", canarySeconds=3.0) as engines,
    ):
        await engines[0].walk(gain=0.05)
        canary = await one_that_compares(engines)
        stubborn = next(engine for engine in engines if engine is not canary)
        stubborn.obeys = False
        await canary.compare(effect=0.05)
        await decided(engines, tmp_path, "Inconclusive")

    ended = ledger(tmp_path)[-1]
    assert isinstance(ended, PromotionEnded)
    assert (ended.phase, ended.sentence) == ("Rolling", "No engine changed to it within 3 s.")
