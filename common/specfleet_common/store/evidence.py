"""The records of a promotion in a store, and what was concluded from them.

    <lineage>/promotions/<set>/evidence/<time>-<digest>.json          records that came together
    <lineage>/promotions/<set>/verdict-<phase>-<digest>.json          what they say

A set is a promotion, or the comparison after it. Names of evidence sort by time, and their digest
is that of their bytes. The digest of a verdict is that of the records that it rests on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from specfleet_common.judge.records import Block, Records, Request, Walk, united
from specfleet_common.judge.rejudging import Judgement, canonical
from specfleet_common.mistakes import summary
from specfleet_common.store.base import Store, StoreError
from specfleet_common.store.entries import PromotionOpened

FORMAT = 1

_RECORDS = TypeAdapter(Records)
_CHUNKS: TypeAdapter[Sequence[Walk | Block | Request]] = TypeAdapter(
    Sequence[Walk | Block | Request]
)
_DIGEST_LETTERS = 16
_READ_AT_ONCE = 16
_RECORDS_AT_ONCE = 1000


class EvidenceError(StoreError):
    """An entry is not what its name says."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One entry of a set: records that were stored together."""

    name: str
    records: Records


def after(promotion: str) -> str:
    """Return the set of the comparison with stock after a promotion."""
    return f"{promotion}-after"


def put(store: Store, lineage_id: str, set_: str, records: Records, *, at: float) -> Batch:
    """Store records that have come until `at`."""
    data = _RECORDS.dump_json(records)
    name = f"{round(1000 * at):014d}-{hashlib.sha256(data).hexdigest()[:_DIGEST_LETTERS]}"
    store.create(_path(lineage_id, set_, name), [data])
    return Batch(name, records)


def batches(store: Store, lineage_id: str, set_: str) -> tuple[Batch, ...]:
    """Return all entries of a set, oldest first."""
    names = store.list(f"{lineage_id}/promotions/{set_}/evidence")
    return read_batches(store, lineage_id, set_, [name.removesuffix(".json") for name in names])


def read_batches(
    store: Store, lineage_id: str, set_: str, names: Iterable[str]
) -> tuple[Batch, ...]:
    """Return the entries with these names; EvidenceError when one is missing or damaged."""
    with ThreadPoolExecutor(_READ_AT_ONCE) as threads:
        return tuple(
            threads.map(lambda name: _read(store, _path(lineage_id, set_, name), name), names)
        )


def read(store: Store, lineage_id: str, set_: str) -> Records:
    """Return all records of a set, each once."""
    return united(batch.records for batch in batches(store, lineage_id, set_))


def digest(records: Records) -> str:
    """Return the digest of records, whatever batches they came in."""
    known = united([records])
    hashed = hashlib.sha256()
    for kind in (known.walks, known.blocks, known.requests):
        for chunk in _chunks(kind):
            # In pieces, because other threads wait meanwhile.
            hashed.update(_CHUNKS.dump_json(chunk))
        hashed.update(b"\n")
    return hashed.hexdigest()


@dataclass(frozen=True, slots=True)
class StoredVerdict:
    """A judgement with all that is needed to make it again."""

    format: int
    set: str
    phase: str
    opened: PromotionOpened
    stock_digest: str
    evidence: str
    records: int
    entries: tuple[str, ...]
    judgement: dict[str, Any]
    """As `rejudging.canonical` writes it."""

    @property
    def judgement_bytes(self) -> bytes:
        """Return the judgement's canonical bytes."""
        return _canonical(self.judgement)


_VERDICT = TypeAdapter(StoredVerdict)


def stored_verdict(
    opened: PromotionOpened,
    judgement: Judgement,
    records: Records,
    entries: Iterable[str],
    *,
    set_: str,
    phase: str,
    stock_digest: str,
) -> StoredVerdict:
    """Return what is to be stored of a judgement of `records`, which are those of `entries`."""
    return StoredVerdict(
        format=FORMAT,
        set=set_,
        phase=phase,
        opened=opened,
        stock_digest=stock_digest,
        evidence=digest(records),
        records=len(records),
        entries=tuple(entries),
        judgement=json.loads(canonical(judgement)),
    )


def put_verdict(store: Store, lineage_id: str, verdict: StoredVerdict) -> None:
    """Store a verdict; the same records have the same one, so that again is harmless."""
    name = f"verdict-{verdict.phase}-{verdict.evidence[:_DIGEST_LETTERS]}.json"
    path = f"{lineage_id}/promotions/{verdict.set}/{name}"
    store.create(path, [encode_verdict(verdict)])


def encode_verdict(verdict: StoredVerdict) -> bytes:
    """Return the file's bytes."""
    return _canonical(_VERDICT.dump_python(verdict, mode="json"))


def verdicts(store: Store, lineage_id: str, set_: str) -> tuple[StoredVerdict, ...]:
    """Return all verdicts on a set, those on fewer records first."""
    directory = f"{lineage_id}/promotions/{set_}"
    names = [name for name in store.list(directory) if name.startswith("verdict-")]
    found = [_read_verdict(store, f"{directory}/{name}") for name in names]
    return tuple(sorted(found, key=lambda verdict: (verdict.records, verdict.phase)))


def _read_verdict(store: Store, path: str) -> StoredVerdict:
    data = store.read(path)
    if data is None:
        raise EvidenceError(f"{path} is missing")
    try:
        verdict = _VERDICT.validate_json(bytes(data), strict=True)
    except ValidationError as error:
        raise EvidenceError(f"{path}: {summary(error)}") from error
    if verdict.format != FORMAT:
        raise EvidenceError(f"{path}: format is {verdict.format}, expected {FORMAT}")
    return verdict


def _read(store: Store, path: str, name: str) -> Batch:
    data = store.read(path)
    if data is None:
        raise EvidenceError(f"{path} is missing")
    actual = hashlib.sha256(data).hexdigest()[:_DIGEST_LETTERS]
    if not name.endswith(f"-{actual}"):
        raise EvidenceError(f"{path}: digest begins with {actual}, expected that of its name")
    try:
        return Batch(name, _RECORDS.validate_json(bytes(data), strict=True))
    except ValidationError as error:
        raise EvidenceError(f"{path}: {summary(error)}") from error


def _chunks(records: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for first in range(0, len(records), _RECORDS_AT_ONCE):
        yield records[first : first + _RECORDS_AT_ONCE]


def _canonical(document: object) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _path(lineage_id: str, set_: str, name: str) -> str:
    return f"{lineage_id}/promotions/{set_}/evidence/{name}.json"
