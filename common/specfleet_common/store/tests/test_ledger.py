"""The ledger: append-only, without gaps, each decision once."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace

import pytest
from pydantic import TypeAdapter

from specfleet_common.store.base import Store
from specfleet_common.store.ledger import Ledger, LedgerError, VersionPublished


def entry(number: int) -> VersionPublished:
    return VersionPublished("version_published", 0.0, number, None, f"{number:064x}", 1, "test")


def test_entries_come_back_in_order(store: Store) -> None:
    ledger = Ledger(store, "l")
    for number in (0, 1, 2):
        ledger.record(entry(number))

    assert Ledger(store, "l").entries() == (entry(0), entry(1), entry(2))
    assert store.list("l/ledger") == ["0.json", "1.json", "2.json"]


class DistantStore:
    """A ledger of 40 entries; whoever reads far into it waits for fifteen more readers."""

    def __init__(self) -> None:
        self._met = threading.Barrier(16, timeout=60)

    def read(self, path: str) -> memoryview | None:
        number = int(path.removeprefix("l/ledger/").removesuffix(".json"))
        # The entries before are read one, two, four and eight at once.
        if number >= 15:
            self._met.wait()
        written = TypeAdapter(VersionPublished).dump_json(entry(number))
        return memoryview(written) if number < 40 else None

    def create(self, path: str, parts: Iterable[bytes | memoryview]) -> bool:
        raise NotImplementedError

    def list(self, path: str) -> list[str]:
        raise NotImplementedError


def test_a_long_ledger_is_read_many_entries_at_once() -> None:
    entries = Ledger(DistantStore(), "l").entries()

    assert entries == tuple(entry(number) for number in range(40))


def test_the_same_decision_is_recorded_once_whenever_it_comes(store: Store) -> None:
    first = Ledger(store, "l")
    first.record(entry(0))

    Ledger(store, "l").record(replace(entry(0), at=99.0))

    assert first.entries() == (entry(0),)


def test_two_writers_leave_no_gap_and_lose_nothing(store: Store) -> None:
    one, two = (Ledger(store, "l") for _ in range(2))
    one.entries()
    two.entries()

    one.record(entry(0))
    two.record(entry(1))

    assert one.entries() == two.entries() == (entry(0), entry(1))


def test_an_entry_that_is_none_is_named(store: Store) -> None:
    store.create("l/ledger/0.json", [b"{}"])

    with pytest.raises(LedgerError, match=r"l/ledger/0\.json"):
        Ledger(store, "l").entries()
