"""Takes evidence in: many calls, one entry of the store; whoever handed in hears when it is there.

Judges nothing. All methods run in the event loop and take time for what is new only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from specfleet_aggregator.promotion.judging import Case
from specfleet_aggregator.surroundings import Surroundings
from specfleet_common.judge.records import AnyRecord, Block, Records, Request, Walk
from specfleet_common.lineage import STOCK
from specfleet_common.store import evidence
from specfleet_common.store.base import Store, StoreError
from specfleet_common.store.evidence import Batch
from specfleet_common.wire.messages import Evidence, EvidenceReply

Key = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Limits:
    """How many records are held in memory."""

    waiting: int = 20_000
    """Beyond these, callers have to try again: the store is slower than they are."""
    walks: int = 100_000
    blocks: int = 100_000
    requests: int = 100_000
    """Of one set; what more would say is known by then."""


@dataclass(slots=True)
class _Set:
    """An open set: what is stored of it."""

    case: Case
    batches: list[Batch] = field(default_factory=list)
    walks: dict[Key, Walk] = field(default_factory=dict)
    blocks: dict[Key, Block] = field(default_factory=dict)
    requests: dict[Key, Request] = field(default_factory=dict)

    def add(self, batch: Batch) -> None:
        records = batch.records
        self.batches.append(batch)
        self.walks |= {one.key: one for one in records.walks}
        self.blocks |= {one.key: one for one in records.blocks}
        self.requests |= {one.key: one for one in records.requests}

    def new(self, records: Records, limits: Limits) -> Records:
        return Records(
            _new(self.walks, records.walks, limits.walks),
            _new(self.blocks, records.blocks, limits.blocks),
            _new(self.requests, records.requests, limits.requests),
        )


@dataclass(frozen=True, slots=True)
class _Waiting:
    set: str
    records: Records
    stored: asyncio.Future[None]


class Intake:
    """The open sets of one lineage."""

    def __init__(
        self, lineage_id: str, surroundings: Surroundings, *, limits: Limits = Limits()
    ) -> None:
        self._lineage_id = lineage_id
        self._limits = limits
        self._around = surroundings
        self._sets: dict[str, _Set] = {}
        self._waiting: list[_Waiting] = []
        self._is_storing = False

    def adopt(self, surroundings: Surroundings) -> None:
        """Go by other settings."""
        self._around = surroundings

    def keep(self, cases: Sequence[Case]) -> list[Case]:
        """Close all sets but these, and return those that have to be read from the store."""
        self._sets = {case.set: self._sets[case.set] for case in cases if case.set in self._sets}
        for case in cases:
            if case.set in self._sets:
                self._sets[case.set].case = case
        return [case for case in cases if case.set not in self._sets]

    async def open(self, case: Case) -> None:
        """Open a set with what the store has of it."""
        store, lineage_id = self._around.store, self._lineage_id
        self._sets[case.set] = await asyncio.to_thread(_read, store, lineage_id, case)

    def batches(self, set_: str) -> tuple[Batch, ...]:
        """Return all that has been stored of an open set."""
        return tuple(self._sets[set_].batches)

    def num_batches(self, set_: str) -> int:
        """Return how often something has been stored of an open set."""
        return len(self._sets[set_].batches)

    def num_records(self, set_: str) -> int:
        """Return how many records an open set has."""
        known = self._sets.get(set_)
        return len(known.walks) + len(known.blocks) + len(known.requests) if known else 0

    @property
    def open_sets(self) -> Collection[str]:
        """Return the sets for which records can be taken."""
        return self._sets.keys()

    async def take(self, handed_in: Evidence) -> EvidenceReply:
        """Return when what is new of it is in the store."""
        opened = self._sets[handed_in.set]
        given = Records(handed_in.walks, handed_in.blocks, handed_in.requests)
        records = opened.new(
            opened.case.keep(_named(given, opened.case.stock_digest)), self._limits
        )
        if not len(records):
            return EvidenceReply(wanted=True, reason="nothing new")
        if sum(len(one.records) for one in self._waiting) >= self._limits.waiting:
            raise StoreError("more evidence has come than is stored, try again")
        stored = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(handed_in.set, records, stored))
        await stored
        return EvidenceReply(wanted=True, reason="stored")

    def is_due(self) -> bool:
        """Return whether `flush` has something to do now."""
        return bool(self._waiting) and not self._is_storing

    async def flush(self) -> None:
        """Store what has come since the last time, and answer those who wait for it."""
        waiting, self._waiting = self._waiting, []
        self._is_storing = True
        try:
            for set_ in sorted({one.set for one in waiting}):
                await self._store(set_, [one for one in waiting if one.set == set_])
        finally:
            self._is_storing = False
            for one in waiting:
                one.stored.cancel()

    async def _store(self, set_: str, waiting: list[_Waiting]) -> None:
        store, lineage_id, at = self._around.store, self._lineage_id, self._around.wall()
        records = _joined([one.records for one in waiting])
        failure: StoreError | None = None
        try:
            batch = await asyncio.to_thread(evidence.put, store, lineage_id, set_, records, at=at)
            # Whoever closed the set meanwhile has decided without these.
            if set_ in self._sets:
                self._sets[set_].add(batch)
        except StoreError as error:
            failure = error
            self._around.metrics.store_failed()
        for one in waiting:
            if one.stored.done():
                continue
            if failure is None:
                one.stored.set_result(None)
            else:
                one.stored.set_exception(failure)


def _read(store: Store, lineage_id: str, case: Case) -> _Set:
    opened = _Set(case)
    for batch in evidence.batches(store, lineage_id, case.set):
        opened.add(batch)
    return opened


def _joined(reports: Sequence[Records]) -> Records:
    return Records(
        tuple(walk for report in reports for walk in report.walks),
        tuple(block for report in reports for block in report.blocks),
        tuple(request for report in reports for request in report.requests),
    )


def _new(
    known: dict[Key, AnyRecord], records: Sequence[AnyRecord], limit: int
) -> tuple[AnyRecord, ...]:
    """Return the records that say more than those that are known."""
    more = tuple(one for one in records if one.key not in known or one > known[one.key])
    return more[: max(0, limit - len(known))]


def _named(records: Records, stock_digest: str) -> Records:
    """Return records in which what engines call stock has its digest."""

    def name(digest: str) -> str:
        return stock_digest if digest == STOCK else digest

    return Records(
        records.walks,
        tuple(replace(one, digest=name(one.digest)) for one in records.blocks),
        tuple(
            replace(one, digests=tuple(sorted(map(name, one.digests)))) for one in records.requests
        ),
    )
