"""Records that are not in the store yet: what is handed in next, and what became of it.

Memory is bounded: of too many records the oldest go. Walks take none, the trainer keeps them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from specfleet_common.exchange import WalkReport
from specfleet_common.judge.records import Block, Request
from specfleet_common.wire.codec import MAX_RECORDS
from specfleet_common.wire.messages import Evidence

MAX_QUEUED = 20_000
"""What a busy engine, which finishes some tens of requests per second, makes wait while a store is
down for ten minutes; about 12 MiB."""

Record = Block | Request


@dataclass(frozen=True, slots=True)
class Destination:
    """Where records belong."""

    lineage_id: str
    set: str


_Key = tuple[Destination, type[Record], tuple[str | int, ...]]


class Outbox:
    """The records of one worker; a batch stays in it until its fate is known."""

    def __init__(self, worker_id: str, *, max_queued: int = MAX_QUEUED) -> None:
        self._worker_id = worker_id
        self._max_queued = max_queued
        self._queued: dict[_Key, Record] = {}
        self._walked: WalkReport | None = None
        self._done_walks: tuple[str, set[str]] = ("", set())
        """A promotion, and the requests whose walks need not be handed in any more."""
        self._unwanted: dict[str, float] = {}
        """Sets that are not wanted, and when that was said."""

    def __len__(self) -> int:
        return len(self._queued)

    def add(self, destination: Destination, records: Iterable[Record]) -> tuple[Record, ...]:
        """Queue records; return the old ones that had to go."""
        if destination.set in self._unwanted:
            return ()
        for record in records:
            self._queued[destination, type(record), record.key] = record
        surplus = max(0, len(self._queued) - self._max_queued)
        return tuple(self._queued.pop(key) for key in list(self._queued)[:surplus])

    def show_walks(self, report: WalkReport | None) -> None:
        """Take notice of all walks that the trainer has made; those of one promotion at a time."""
        self._walked = report
        if report is not None and report.promotion != self._done_walks[0]:
            self._done_walks = (report.promotion, set())

    def next_batch(self) -> Evidence | None:
        """Return what to hand in next, None when there is nothing."""
        if not self._queued:
            return self._next_walks()
        destination = next(iter(self._queued))[0]
        mine = [record for key, record in self._queued.items() if key[0] == destination]
        return self._evidence(destination, mine[:MAX_RECORDS])

    def done(self, batch: Evidence) -> None:
        """Forget a batch that is in the store, or will never be taken."""
        destination = Destination(batch.lineage_id, batch.set)
        records: tuple[Record, ...] = (*batch.blocks, *batch.requests)
        for record in records:
            key = (destination, type(record), record.key)
            if self._queued.get(key) == record:
                del self._queued[key]
        if batch.set == self._done_walks[0]:
            self._done_walks[1].update(walk.request for walk in batch.walks)

    def stop(self, set_: str, *, at: float) -> None:
        """Forget all records of a set that is not wanted any more."""
        self._unwanted[set_] = at
        self._queued = {key: one for key, one in self._queued.items() if key[0].set != set_}

    def go_on(self, set_: str, *, asked_at: float) -> None:
        """Hand in what comes for a set again if it is named in an answer asked for since."""
        if self._unwanted.get(set_, asked_at) < asked_at:
            del self._unwanted[set_]

    def waiting(self) -> tuple[Evidence, ...]:
        """Return all that is queued, however much, in one piece for each destination."""
        by_destination: dict[Destination, list[Record]] = {}
        for (destination, *_), record in self._queued.items():
            by_destination.setdefault(destination, []).append(record)
        return tuple(self._evidence(*one) for one in by_destination.items())

    def take_up(self, waiting: Iterable[Evidence]) -> None:
        """Queue what was waiting before a restart."""
        for one in waiting:
            self.add(Destination(one.lineage_id, one.set), (*one.blocks, *one.requests))

    def _evidence(self, destination: Destination, records: Sequence[Record]) -> Evidence:
        return Evidence(
            worker_id=self._worker_id,
            lineage_id=destination.lineage_id,
            set=destination.set,
            blocks=tuple(record for record in records if isinstance(record, Block)),
            requests=tuple(record for record in records if isinstance(record, Request)),
        )

    def _next_walks(self) -> Evidence | None:
        report, (promotion, done) = self._walked, self._done_walks
        if report is None or promotion in self._unwanted:
            return None
        walks = tuple(walk for walk in report.walks if walk.request not in done)[:MAX_RECORDS]
        if not walks:
            return None
        return Evidence(self._worker_id, report.lineage_id, report.promotion, walks=walks)
