"""Entries of a store, files in shared memory and on a pod's volume."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from specfleet_agent.engine_page import PageError, decode
from specfleet_agent.tests.builders import page_content
from specfleet_common.exchange import ExchangeError, Orders, read_message
from specfleet_common.shm.bank import BankReader, BankWriter
from specfleet_common.shm.capture import CaptureError
from specfleet_common.shm.capture import decode as decode_record
from specfleet_common.shm.layout import ShmMismatch
from specfleet_common.shm.ring import Record, RingReader, RingWriter
from specfleet_common.store import versions
from specfleet_common.store.directory import DirectoryStore
from specfleet_common.store.ledger import Ledger, LedgerError
from specfleet_common.store.owner import ForeignStore, check, claim
from specfleet_common.store.sealing import sealed
from specfleet_common.store.versions import DamagedVersion
from tools.bad_input.case import Case, Section
from tools.fuzz.borders import store
from tools.fuzz.borders.shared_memory import LAYOUT

_HUGE = 1 << 60


def sections() -> tuple[Section, ...]:
    """Return these sections."""
    return (
        Section(
            "Entries of the store",
            "A damaged version is passed over for the one before it, and logged as "
            "`version_damaged`; its number is not used again. Damage in the ledger, or a store of "
            "another fleet, stops the aggregator from deciding: `Aggregating` is `False` with the "
            "words.",
            (
                Case("a manifest that is no JSON", DamagedVersion, _manifest(lambda _: b"{")),
                Case("a manifest of a newer format", DamagedVersion, _manifest(_newer)),
                Case("a manifest that leads elsewhere", DamagedVersion, _manifest(_elsewhere)),
                Case("a manifest of another lineage", DamagedVersion, _manifest(_foreign)),
                Case("a manifest with a changed digit", DamagedVersion, _manifest(_changed)),
                Case("a file that is cut", DamagedVersion, _content(b"x")),
                Case("an entry of the ledger that is none", LedgerError, _ledger(b"[]")),
                Case("a decision that is unknown", LedgerError, _ledger(b'{"kind": "x"}')),
                Case("a store of another fleet", ForeignStore, _claimed),
            ),
        ),
        Section(
            "Shared memory and the pod's volume",
            "Weights that are refused are counted (`specfleet_agent_bank_refusals_total`) and the "
            "engine runs on with what it has. A capture that cannot be read is skipped to its "
            "newest end. An agent that cannot read a page shows the words as the engine's problem.",
            (
                _shared("another kind of file", BankReader.attach),
                Case("a file of nothing", ShmMismatch, _short),
                Case("another format", ShmMismatch, _header(8, b"\x09")),
                Case("a damaged header", ShmMismatch, _header(60, b"\x00")),
                Case("a file that is cut", ShmMismatch, _cut),
                Case("another layout", ShmMismatch, _other_layout),
                Case("a record of no kind", CaptureError, lambda _: _record(9, b"")),
                Case("a step of four billion rows", CaptureError, _take_many_rows),
                Case("a page of another version", PageError, lambda _: decode({"beats": "x"})),
                Case("a file name that leads elsewhere", PageError, lambda _: _page_elsewhere()),
                Case("orders of another version", ExchangeError, _orders),
            ),
        ),
    )


def _manifest(spoil: Callable[[dict[str, Any]], bytes]) -> Callable[[Path], object]:
    def hand_in(place: Path) -> object:
        good = json.loads(store.manifest())
        kept = DirectoryStore(place)
        kept.create(f"{store.LINEAGE.id}/versions/0/manifest.json", [spoil(good)])
        return versions.read_manifest(kept, store.LINEAGE.id, 0)

    return hand_in


def _newer(good: dict[str, Any]) -> bytes:
    return _sealed({**good, "format": 2})


def _elsewhere(good: dict[str, Any]) -> bytes:
    return _sealed({**good, "drafter": {**good["drafter"], "file": "../../x"}})


def _foreign(good: dict[str, Any]) -> bytes:
    return _sealed({**good, "number": 7})


def _changed(good: dict[str, Any]) -> bytes:
    return _sealed(good).replace(b'"number": 0', b'"number": 1')


def _sealed(good: dict[str, Any]) -> bytes:
    return sealed(json.dumps({name: one for name, one in good.items() if name != "seal"}).encode())


def _content(data: bytes) -> Callable[[Path], object]:
    def hand_in(place: Path) -> object:
        kept, path = DirectoryStore(place), f"{store.LINEAGE.id}/versions/0"
        kept.create(f"{path}/manifest.json", [store.manifest()])
        kept.create(f"{path}/{store.DRAFTER_FILE}", [data])
        manifest = versions.read_manifest(kept, store.LINEAGE.id, 0)
        assert manifest is not None
        return versions.read_content(kept, manifest, manifest.drafter)

    return hand_in


def _ledger(data: bytes) -> Callable[[Path], object]:
    def hand_in(place: Path) -> object:
        kept = DirectoryStore(place)
        kept.create("l/ledger/0.json", [data])
        return Ledger(kept, "l").entries()

    return hand_in


def _claimed(place: Path) -> None:
    kept = DirectoryStore(place)
    claim(kept, "tiny")
    check(kept, "other")


def _shared(what: str, attach: Callable[[Path], object]) -> Case:
    return Case(what, ShmMismatch, lambda place: attach(_ring(place)))


def _ring(place: Path) -> Path:
    path = place / "capture.ring"
    RingWriter.create(path, LAYOUT, 256)
    return path


def _short(place: Path) -> object:
    path = place / "capture.ring"
    path.write_bytes(b"")
    return RingReader.attach(path)


def _header(position: int, data: bytes) -> Callable[[Path], object]:
    def hand_in(place: Path) -> object:
        path = _ring(place)
        with path.open("r+b") as file:
            file.seek(position)
            file.write(data)
        try:
            return RingReader.attach(path)
        except ShmMismatch as error:
            # What is random in a header makes its checksum another one in every run.
            raise ShmMismatch(re.sub("[0-9a-f]{8}", "xxxxxxxx", str(error))) from error

    return hand_in


def _cut(place: Path) -> object:
    path = _ring(place)
    with path.open("r+b") as file:
        file.truncate(8200)
    return RingReader.attach(path)


def _other_layout(place: Path) -> object:
    path = place / "weights.bank"
    BankWriter.create(path, LAYOUT, 64)
    return BankReader.attach(path, replace(LAYOUT, hidden_size=8))


def _take_many_rows(place: Path) -> object:
    return _record(2, many_rows())


def _record(kind: int, payload: bytes) -> object:
    return decode_record(Record(kind, payload), LAYOUT)


def many_rows() -> bytes:
    return struct.pack("<QIIIIQ64s", 7, 1, (1 << 32) - 1, 3, 0, _HUGE, b"stock")


def _page_elsewhere() -> object:
    return decode({**page_content(), "stock_file": "../../etc/passwd"})


def _orders(place: Path) -> object:
    path = place / "orders.json"
    path.write_text(json.dumps({"round": "x"}))
    return read_message(path, Orders)
