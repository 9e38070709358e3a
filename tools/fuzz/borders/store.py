"""What the aggregator and the command line read from a store that others may have written to."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pydantic import TypeAdapter

from specfleet_common.judge.records import Records
from specfleet_common.judge.rejudging import REPLAY, rejudge
from specfleet_common.judge.tests.building import OPENED, STOCK, blocks, requests, walks
from specfleet_common.lineage import Lineage, shapes_digest
from specfleet_common.store import evidence, versions
from specfleet_common.store.base import Store, StoreError, names_of
from specfleet_common.store.entries import Entry, PromotionEnded, VersionPublished
from specfleet_common.store.ledger import Ledger
from specfleet_common.store.manifest import FORMAT, Content, Manifest, encode_manifest
from specfleet_common.store.owner import owner_of
from specfleet_common.store.sealing import sealed
from specfleet_common.tensors import content_digest, encode
from tools.fuzz.border import Border
from tools.fuzz.borders.tensors import SHAPES, weights

_WEIGHTS = encode(weights(5))
LINEAGE = Lineage("f" * 64, "mtp", "mimo", "float32", shapes_digest(SHAPES))
DRAFTER_FILE = "drafter-0.safetensors"
_RECORDS = Records(tuple(walks(2, gain=0.1)), tuple(blocks(1, effect=0.1))[:2])


@dataclass(frozen=True, slots=True)
class _OneEntry:
    """A store with the same bytes at one path, or at all of them."""

    path: str
    data: bytes
    others: bytes | None = None

    def read(self, path: str) -> memoryview | None:
        names_of(path)
        if path == self.path:
            return memoryview(self.data)
        return None if self.others is None else memoryview(self.others)

    def create(self, path: str, parts: Iterable[bytes | memoryview]) -> bool:
        return False

    def list(self, path: str) -> list[str]:
        below = self.path.removeprefix(f"{path}/")
        return [] if below == self.path else [below.split("/", 1)[0]]


def borders() -> tuple[Border, ...]:
    """Return the borders of the store."""
    return (
        _border("entry of the ledger", "l/ledger/0.json", _take_ledger, _entries()),
        _border(
            "manifest of a version",
            f"{LINEAGE.id}/versions/0/manifest.json",
            _take_version,
            (manifest(),),
            others=_WEIGHTS,
        ),
        Border(
            "records of a promotion",
            _take_evidence,
            (StoreError,),
            (TypeAdapter(Records).dump_json(_RECORDS),),
            is_json=True,
        ),
        _border("verdict", "l/promotions/p/verdict-a.json", _take_verdict, (_verdict(),)),
        _border("owner of a store", "owner.json", owner_of, (b'{"fleet":"tiny"}',)),
    )


def _border(
    name: str,
    path: str,
    take: Callable[[Store], object],
    seeds: tuple[bytes, ...],
    *,
    others: bytes | None = None,
) -> Border:
    def take_bytes(data: bytes) -> object:
        return take(_OneEntry(path, data, others))

    return Border(name, take_bytes, (StoreError,), seeds, is_json=True)


def _take_ledger(store: Store) -> None:
    Ledger(store, "l").entries()


def _take_version(store: Store) -> None:
    """Find it, as the aggregator does when it starts, and read all that it names."""
    lineage_id = LINEAGE.id
    versions.find_lineage(store, lineage_id)
    found = versions.find(store, lineage_id)
    if found.damage:
        raise StoreError("; ".join(found.damage))
    if found.newest is not None:
        versions.read_shapes(store, found.newest)
        versions.read_outer(store, found.newest)


def _take_evidence(data: bytes) -> None:
    name = f"{0:014d}-{hashlib.sha256(data).hexdigest()[:16]}"
    store = _OneEntry(f"l/promotions/p/evidence/{name}.json", data)
    records = evidence.read(store, "l", "p")
    evidence.digest(records)


def _take_verdict(store: Store) -> None:
    for verdict in evidence.verdicts(store, "l", "p"):
        evidence.encode_verdict(verdict)


def _entries() -> tuple[bytes, ...]:
    entries: tuple[Entry, ...] = (
        VersionPublished("version_published", 1.0, 3, 2, "d" * 64, 2, "all reported"),
        OPENED,
        PromotionEnded(
            "promotion_ended", 2.0, "p", "Rejected", "Replay", "worse", "e" * 64, 9, True
        ),
    )
    adapter: TypeAdapter[Entry] = TypeAdapter(Entry)
    return tuple(sealed(adapter.dump_json(entry)) for entry in entries)


def manifest() -> bytes:
    content = Content(DRAFTER_FILE, content_digest(_WEIGHTS), len(_WEIGHTS))
    return encode_manifest(
        Manifest(
            format=FORMAT,
            lineage=LINEAGE,
            number=0,
            parent=None,
            created_at=1.0,
            drafter=content,
            outer=None,
            parameter_norm=2.0,
            workers=("w",),
            positions=9,
            reason="stock",
        )
    )


def _verdict() -> bytes:
    records = Records(_RECORDS.walks, requests=tuple(requests(1)))
    judgement = rejudge(OPENED, records, phase=REPLAY, stock_digest=STOCK)
    return evidence.encode_verdict(
        evidence.stored_verdict(
            OPENED,
            judgement,
            records,
            ["a"],
            set_="p",
            phase=REPLAY,
            stock_digest=STOCK,
        )
    )
