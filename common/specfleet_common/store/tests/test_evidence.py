"""Records of promotions in a store, on every kind of store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specfleet_common.judge.records import Records, united
from specfleet_common.judge.rejudging import canonical, rejudge
from specfleet_common.judge.tests.building import OPENED, STOCK, blocks, requests, walks
from specfleet_common.store import evidence
from specfleet_common.store.base import Store
from specfleet_common.store.directory import DirectoryStore
from specfleet_common.store.evidence import EvidenceError

SET = OPENED.promotion
RECORDS = Records(tuple(walks(12)), tuple(blocks(4)), tuple(requests(2)))


def test_records_come_back_in_the_order_in_which_they_were_stored(store: Store) -> None:
    halves = [replace(RECORDS, walks=()), replace(RECORDS, blocks=(), requests=())]
    stored = [
        evidence.put(store, "l", SET, half, at=1000.0 + second)
        for second, half in enumerate(halves)
    ]

    assert evidence.batches(store, "l", SET) == tuple(stored)
    assert evidence.read(store, "l", SET) == united(halves)
    assert evidence.read(store, "l", "9-other") == Records()


def test_one_entry_can_be_asked_for_by_its_name(store: Store) -> None:
    first = evidence.put(store, "l", SET, RECORDS, at=1.0)
    evidence.put(store, "l", SET, replace(RECORDS, walks=()), at=2.0)

    assert evidence.read_batches(store, "l", SET, [first.name]) == (first,)


def test_an_entry_that_is_not_what_its_name_says_is_refused(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    batch = evidence.put(store, "l", SET, RECORDS, at=1.0)
    path = tmp_path / "l" / "promotions" / SET / "evidence" / f"{batch.name}.json"
    path.write_bytes(path.read_bytes().replace(b'"tokens":200', b'"tokens":201', 1))

    with pytest.raises(EvidenceError, match="expected that of its name"):
        evidence.batches(store, "l", SET)
    with pytest.raises(EvidenceError, match="is missing"):
        evidence.read_batches(store, "l", SET, ["00000000000001-0123456789abcdef"])


def test_a_verdict_comes_back_with_the_bytes_of_its_judgement(store: Store) -> None:
    batch = evidence.put(store, "l", SET, RECORDS, at=1.0)
    judgement = rejudge(OPENED, RECORDS, phase="Canary", stock_digest=STOCK)
    verdict = evidence.stored_verdict(
        OPENED,
        judgement,
        RECORDS,
        [batch.name],
        set_=SET,
        phase="Canary",
        stock_digest=STOCK,
    )
    evidence.put_verdict(store, "l", verdict)
    evidence.put_verdict(store, "l", verdict)

    (found,) = evidence.verdicts(store, "l", SET)

    assert found == verdict
    assert found.judgement_bytes == canonical(judgement)
    assert (found.evidence, found.records) == (evidence.digest(RECORDS), len(RECORDS))


def test_a_verdict_that_is_none_is_refused(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    store.create(f"l/promotions/{SET}/verdict-Canary-0123456789abcdef.json", [b'{"format":1}'])

    with pytest.raises(EvidenceError, match="verdict-Canary-0123456789abcdef"):
        evidence.verdicts(store, "l", SET)


@given(st.permutations(range(len(RECORDS.walks))), st.integers(0, len(RECORDS.walks)))
def test_the_digest_is_that_of_the_records_whatever_batches_they_came_in(
    order: list[int], twice: int
) -> None:
    shuffled = tuple(RECORDS.walks[place] for place in order)
    again = replace(RECORDS, walks=shuffled + shuffled[:twice])

    assert evidence.digest(again) == evidence.digest(RECORDS)
    assert evidence.digest(replace(RECORDS, walks=shuffled[1:])) != evidence.digest(RECORDS)
