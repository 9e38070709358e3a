"""Verdicts that come out the same, and those that do not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from specfleet_cli.promotions.listing import Listed, listed
from specfleet_cli.promotions.rejudging import Rejudged, rejudge_all
from specfleet_cli.promotions.tests.lineages import (
    LINEAGE,
    FakeLineage,
    in_batches,
    promoted,
    rejected,
    too_slow,
    waiting,
    walks,
    withdrawn,
)
from specfleet_common.judge.records import Records
from specfleet_common.store.directory import DirectoryStore
from specfleet_common.store.entries import PromotionOpened
from specfleet_common.store.evidence import EvidenceError
from specfleet_common.store.ledger import Ledger

Story = Callable[[FakeLineage], PromotionOpened]


def newest(store: DirectoryStore) -> Listed:
    return listed(Ledger(store, LINEAGE).entries(), LINEAGE)[0]


def rejudged(store: DirectoryStore) -> Rejudged:
    return rejudge_all(store, newest(store))


@pytest.mark.parametrize("story", [promoted, rejected, too_slow, waiting, withdrawn])
def test_what_was_decided_comes_out_the_same(story: Story, tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    story(FakeLineage(store))

    found = rejudged(store)

    assert found.is_the_same, "\n".join(found.lines())
    assert len(found.comparisons) >= 1
    assert [one.stored for one in found.comparisons] == [
        one.recomputed for one in found.comparisons
    ]


def test_records_that_came_later_change_nothing(tmp_path: Path) -> None:
    lineage = FakeLineage(store := DirectoryStore(tmp_path))
    opened = rejected(lineage)
    lineage.stores(opened, in_batches(Records(walks=walks(300, gain=0.2, seed=9)), 300))

    assert rejudged(store).is_the_same


def changed(path: Path, change: Callable[[Any], None]) -> None:
    document = json.loads(path.read_bytes())
    change(document)
    path.write_bytes(
        json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    )


def verdict_file(root: Path) -> Path:
    (path,) = root.glob(f"{LINEAGE}/promotions/*/verdict-Replay-*.json")
    return path


def test_another_judgement_differs_and_both_sentences_are_said(tmp_path: Path) -> None:
    rejected(FakeLineage(store := DirectoryStore(tmp_path)))

    def embellish(document: Any) -> None:
        document["judgement"]["verdict"]["sentence"] = "Passed: all is well."

    changed(verdict_file(tmp_path), embellish)

    found = rejudged(store)

    assert [one.differences for one in found.comparisons] == [("judgement",)]
    lines = list(found.lines())
    assert lines[0] == "Replay: 100 records, differs in judgement"
    assert lines[1] == "  stored      Passed: all is well."
    assert lines[2].startswith("  recomputed  Harmful: candidate over stable")


def test_other_rules_than_those_of_the_ledger_differ(tmp_path: Path) -> None:
    rejected(FakeLineage(store := DirectoryStore(tmp_path)))

    def relax(document: Any) -> None:
        document["opened"]["rules"]["minimum_gain"] = 0.0

    changed(verdict_file(tmp_path), relax)

    assert [one.differences for one in rejudged(store).comparisons] == [("rules",)]


def test_a_verdict_on_fewer_records_differs(tmp_path: Path) -> None:
    rejected(FakeLineage(store := DirectoryStore(tmp_path)))

    changed(verdict_file(tmp_path), lambda document: document["entries"].pop())

    (one,) = rejudged(store).comparisons
    assert one.differences == ("records", "evidence", "judgement")


def test_a_decision_without_its_verdict_is_not_the_same(tmp_path: Path) -> None:
    rejected(FakeLineage(store := DirectoryStore(tmp_path)))
    verdict_file(tmp_path).unlink()

    found = rejudged(store)

    assert not found.is_the_same
    assert "Rejected: the store has no verdict on its evidence" in "\n".join(found.lines())


def test_records_that_are_missing_are_named(tmp_path: Path) -> None:
    rejected(FakeLineage(store := DirectoryStore(tmp_path)))
    next(tmp_path.glob(f"{LINEAGE}/promotions/*/evidence/*.json")).unlink()

    with pytest.raises(EvidenceError, match=r"evidence/.* is missing"):
        rejudged(store)


def test_without_any_decision_on_evidence_there_is_nothing_to_compare(tmp_path: Path) -> None:
    FakeLineage(store := DirectoryStore(tmp_path)).opens()

    found = rejudged(store)

    assert found.is_the_same
    assert list(found.lines())[-1].endswith("there is nothing to compare")
