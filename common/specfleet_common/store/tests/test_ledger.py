"""The ledger: append-only, without gaps, each decision once."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from specfleet_common.store.base import Store
from specfleet_common.store.entries import (
    PromotionEnded,
    PromotionOpened,
    Rules,
    VersionPublished,
)
from specfleet_common.store.ledger import Ledger, LedgerError
from specfleet_common.store.sealing import sealed


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
        written = sealed(TypeAdapter(VersionPublished).dump_json(entry(number)))
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


def test_an_entry_with_a_changed_digit_is_named(root: Path, store: Store) -> None:
    Ledger(store, "l").record(entry(7))
    file = root / "l" / "ledger" / "0.json"
    file.write_text(file.read_text().replace(f"{7:064x}", f"{6:064x}"))

    with pytest.raises(LedgerError, match=r"l/ledger/0\.json: its seal is"):
        Ledger(store, "l").entries()


RULES = Rules(0.005, 0.01, 0.03, 0.05, 30.0, 7.5, 0.05, 0.1, 0.01, 0.1, 20)
OPENED = PromotionOpened("promotion_opened", 1.0, "3-abc", 3, "a" * 64, 0, "b" * 64, "seed", RULES)
ENDED = PromotionEnded(
    "promotion_ended", 2.0, "3-abc", "Rejected", "Replay", "Worse.", "c" * 64, 40, harmful=True
)


def test_a_decision_is_appended_to_the_ledger_it_was_made_by(store: Store) -> None:
    ledger = Ledger(store, "l")
    ledger.record(entry(0))

    assert ledger.append_at(1, OPENED)
    assert ledger.append_at(2, ENDED)

    assert Ledger(store, "l").entries() == (entry(0), OPENED, ENDED)


def test_a_decision_made_before_another_was_known_is_not_appended(store: Store) -> None:
    late = Ledger(store, "l")
    late.entries()
    Ledger(store, "l").record(entry(0))

    assert not late.append_at(0, OPENED)
    assert late.entries() == (entry(0),)


def test_a_version_is_recorded_after_decisions(store: Store) -> None:
    ledger = Ledger(store, "l")
    ledger.append_at(0, OPENED)

    ledger.record(entry(4))

    assert ledger.entries() == (OPENED, entry(4))
