"""The ledger: append-only, without gaps, each decision once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from specfleet_common.store.directory import DirectoryStore
from specfleet_common.store.ledger import Ledger, LedgerError, VersionPublished


def entry(number: int) -> VersionPublished:
    return VersionPublished("version_published", 0.0, number, None, f"{number:064x}", 1, "test")


def test_entries_come_back_in_order(tmp_path: Path) -> None:
    ledger = Ledger(DirectoryStore(tmp_path), "l")
    for number in (0, 1, 2):
        ledger.record(entry(number))

    assert Ledger(DirectoryStore(tmp_path), "l").entries() == (entry(0), entry(1), entry(2))
    assert sorted(path.name for path in (tmp_path / "l/ledger").iterdir()) == [
        "0.json",
        "1.json",
        "2.json",
    ]


def test_the_same_decision_is_recorded_once_whenever_it_comes(tmp_path: Path) -> None:
    first = Ledger(DirectoryStore(tmp_path), "l")
    first.record(entry(0))

    Ledger(DirectoryStore(tmp_path), "l").record(replace(entry(0), at=99.0))

    assert first.entries() == (entry(0),)


def test_two_writers_leave_no_gap_and_lose_nothing(tmp_path: Path) -> None:
    one, two = (Ledger(DirectoryStore(tmp_path), "l") for _ in range(2))
    one.entries()
    two.entries()

    one.record(entry(0))
    two.record(entry(1))

    assert one.entries() == two.entries() == (entry(0), entry(1))


def test_an_entry_that_is_none_is_named(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    store.create("l/ledger/0.json", [b"{}"])

    with pytest.raises(LedgerError, match=r"l/ledger/0\.json"):
        Ledger(store, "l").entries()
