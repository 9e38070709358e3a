"""How evidence is gathered on its way into the store."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from specfleet_aggregator.intake import Intake, Limits
from specfleet_aggregator.metrics import AggregatorMetrics
from specfleet_aggregator.promotion.history import Promotion
from specfleet_aggregator.promotion.judging import after_case, open_case
from specfleet_aggregator.publishing import Outer
from specfleet_aggregator.surroundings import Surroundings
from specfleet_aggregator.tests.builders import LINEAGE, policy
from specfleet_aggregator.tests.stores import FlakyStore
from specfleet_common.diloco.rule import Rule
from specfleet_common.judge.records import Records
from specfleet_common.judge.tests.building import OPENED, STOCK, blocks, requests, walks
from specfleet_common.store import evidence
from specfleet_common.store.base import StoreError
from specfleet_common.wire.messages import Evidence, EvidenceReply

CASE = open_case(Promotion(OPENED), stock_digest=STOCK)


async def opened(directory: Path, **limits: int) -> tuple[Intake, FlakyStore]:
    store = FlakyStore(directory)
    around = Surroundings(
        store=store,
        spool_directory=directory,
        checking=ThreadPoolExecutor(1),
        policy=policy(),
        outer=Outer(Rule.MEAN, 1.0, 0.0),
        metrics=AggregatorMetrics(CollectorRegistry()),
        monotonic=lambda: 0.0,
        wall=lambda: 1000.0,
        changed=lambda: None,
    )
    intake = Intake(LINEAGE.id, around, limits=Limits(**limits))
    await intake.open(CASE)
    return intake, store


def handed_in(records: Records, set_: str = CASE.set) -> Evidence:
    return Evidence("engine-0", LINEAGE.id, set_, records.walks, records.blocks, records.requests)


async def taken(intake: Intake, *given: Records, set_: str = CASE.set) -> list[EvidenceReply]:
    """Hand records in and let them be stored."""
    calls = [asyncio.create_task(intake.take(handed_in(one, set_))) for one in given]
    await asyncio.sleep(0)
    if intake.is_due():
        await intake.flush()
    return list(await asyncio.gather(*calls))


async def test_nobody_hears_of_success_before_the_store_has_it(tmp_path: Path) -> None:
    intake, store = await opened(tmp_path)
    call = asyncio.create_task(intake.take(handed_in(Records(tuple(walks(3))))))
    await asyncio.sleep(0)
    early = call.done()
    await intake.flush()
    reply = await call

    assert not early
    assert reply.reason == "stored"
    assert evidence.read(store, LINEAGE.id, CASE.set).walks == tuple(sorted(walks(3)))


async def test_a_failure_of_the_store_is_everybodys_answer_and_leaves_nothing(
    tmp_path: Path,
) -> None:
    intake, store = await opened(tmp_path)
    store.broken = "disk is full"
    with pytest.raises(StoreError, match="disk is full"):
        await taken(intake, Records(tuple(walks(3))))
    store.broken = ""

    (again,) = await taken(intake, Records(tuple(walks(3))))

    assert again.reason == "stored"
    assert intake.num_records(CASE.set) == 3


async def test_a_record_that_says_more_than_before_is_stored_again(tmp_path: Path) -> None:
    intake, _ = await opened(tmp_path)
    (block, *_) = blocks(1)
    fuller = replace(block, busy_seconds=block.busy_seconds + 1)
    await taken(intake, Records(blocks=(block,)))

    replies = [(await taken(intake, Records(blocks=(one,))))[0].reason for one in (fuller, block)]

    assert replies == ["stored", "nothing new"]
    assert intake.num_records(CASE.set) == 1


async def test_what_is_in_the_store_already_is_known_after_a_restart(tmp_path: Path) -> None:
    intake, _ = await opened(tmp_path)
    await taken(intake, Records(tuple(walks(3))))

    restarted, _ = await opened(tmp_path)
    (reply,) = await taken(restarted, Records(tuple(walks(3))))

    assert reply.reason == "nothing new"
    assert restarted.batches(CASE.set) == intake.batches(CASE.set)


async def test_callers_wait_for_a_store_that_is_slower_than_they_are(tmp_path: Path) -> None:
    intake, _ = await opened(tmp_path, waiting=2)
    first = asyncio.create_task(intake.take(handed_in(Records(tuple(walks(2))))))
    await asyncio.sleep(0)

    with pytest.raises(StoreError, match="try again"):
        await intake.take(handed_in(Records(tuple(walks(3)))))
    await intake.flush()

    assert (await first).reason == "stored"


async def test_requests_beyond_the_limit_are_not_kept(tmp_path: Path) -> None:
    intake, store = await opened(tmp_path, requests=7)

    await taken(intake, Records(requests=tuple(requests(2))))
    (more,) = await taken(intake, Records(requests=tuple(requests(2, engine="other"))))

    assert more.wanted
    assert len(evidence.read(store, LINEAGE.id, CASE.set).requests) == 7


async def test_stock_is_named_by_its_digest(tmp_path: Path) -> None:
    intake, store = await opened(tmp_path)
    (block, *_), (request, *_) = blocks(1), requests(1)
    given = Records(
        blocks=(replace(block, digest="stock"),), requests=(replace(request, digests=("stock",)),)
    )

    await taken(intake, given)

    stored = evidence.read(store, LINEAGE.id, CASE.set)
    assert [one.digest for one in stored.blocks] == [STOCK]
    assert [one.digests for one in stored.requests] == [(STOCK,)]


async def test_after_a_promotion_only_blocks_that_compare_are_kept(tmp_path: Path) -> None:
    intake, store = await opened(tmp_path)
    case = after_case(Promotion(OPENED), stock_digest=STOCK)
    await intake.open(case)
    given = Records(blocks=tuple(blocks(200)), requests=tuple(requests(2)))

    await taken(intake, given, set_=case.set)

    stored = evidence.read(store, LINEAGE.id, case.set)
    assert 2 <= len(stored.blocks) <= 60
    assert stored.requests == ()


async def test_a_set_that_is_closed_is_forgotten(tmp_path: Path) -> None:
    intake, _ = await opened(tmp_path)
    await taken(intake, Records(tuple(walks(3))))

    unread = intake.keep([])

    assert (unread, list(intake.open_sets), intake.num_records(CASE.set)) == ([], [], 0)
