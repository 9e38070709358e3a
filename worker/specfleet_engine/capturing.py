"""Turn observed steps into capture records: all rows of the followed requests, and drafts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from specfleet_common.shm.capture import Begin, End, Step
from specfleet_engine.following import Following
from specfleet_engine.step import Scheduled, Verified


class RecordSink(Protocol):
    """Where records go; False means there was no room and nothing was written."""

    def put(self, record: Begin | Step | End) -> bool: ...


@dataclass(slots=True)
class CaptureCounts:
    """What was captured since the engine started."""

    requests: int = 0
    held_out_requests: int = 0
    taken_rows: int = 0
    dropped_records: int = 0
    skipped_steps: int = 0


class Capture:
    """Follows requests and writes what happens to them; a lost record ends the request it is of."""

    def __init__(self, following: Following, sink: RecordSink) -> None:
        self.counts = CaptureCounts()
        self._following = following
        self._sink = sink
        self._number = 0
        self._open: _OpenStep | None = None

    @property
    def followed(self) -> int:
        """Return how many requests are followed now."""
        return len(self._following)

    def step_begins(self, scheduled: Scheduled) -> None:
        """End what is finished and follow what is new."""
        for request_id in scheduled.finished:
            self._end(request_id, "finished")
        for request in scheduled.new:
            begin = self._following.admit(request)
            if begin is None:
                continue
            if not self._put(begin):
                self._following.end(request.id, "dropped")
                continue
            self.counts.requests += 1
            self.counts.held_out_requests += begin.held_out

    def verified(self, batch: Verified) -> None:
        """Copy the verified rows of the followed requests."""
        self._number += 1
        chosen, rows, serials, counts = [], [], [], []
        for place, request_id in enumerate(batch.request_ids):
            followed = self._following.get(request_id)
            if followed is None:
                continue
            first, last = int(batch.first[place]), int(batch.last[place])
            position = int(batch.positions[first])
            room = followed.longest - position
            if room <= 0:
                continue
            kept = np.arange(first, min(last + 1, first + room))
            chosen.append(place)
            serials.append(followed.serial)
            counts.append(len(kept))
            rows.append(kept)
            followed.extend(position, batch.tokens[first : last + 1].tolist())
            if batch.sampled[place]:
                followed.extend(int(batch.positions[last]) + 1, [int(batch.next_tokens[place])])
        if not chosen:
            return
        index = np.concatenate(rows)
        ends = np.cumsum(counts)
        fed = np.append(batch.tokens[1:], np.int32(-1))
        fed[batch.last] = batch.next_tokens
        self._open = _OpenStep(
            places=np.array(chosen),
            request_ids=[batch.request_ids[place] for place in chosen],
            serials=np.array(serials, np.uint64),
            first=np.array(ends - counts, np.uint32),
            rows=np.array(counts, np.uint32),
            tokens=batch.tokens[index].astype(np.int32),
            fed=fed[index].astype(np.int32),
            positions=batch.positions[index].astype(np.int32),
            hidden=batch.hidden[index],
        )

    def drafted(self, drafts: NDArray[np.int32], drafter: str) -> None:
        """Write the step: its rows, and what `drafter` proposed after them."""
        step, self._open = self._open, None
        if step is None:
            return
        record = Step(
            number=self._number,
            digest=drafter,
            serials=step.serials,
            first=step.first,
            rows=step.rows,
            drafts=np.ascontiguousarray(drafts[step.places], np.int32),
            tokens=step.tokens,
            fed=step.fed,
            positions=step.positions,
            hidden=step.hidden,
        )
        if self._put(record):
            self.counts.taken_rows += len(step.tokens)
            return
        for request_id in step.request_ids:
            self._end(request_id, "dropped")

    def skipped(self, request_ids: Sequence[str]) -> None:
        """Take note that the drafter did not run in a step: the requests in it have a gap now."""
        self.counts.skipped_steps += 1
        for request_id in request_ids:
            self._end(request_id, "dropped")

    def _end(self, request_id: str, reason: str) -> None:
        end = self._following.end(request_id, reason)
        if end is not None:
            self._put(end)

    def _put(self, record: Begin | Step | End) -> bool:
        taken = self._sink.put(record)
        self.counts.dropped_records += not taken
        return taken


@dataclass(frozen=True, slots=True)
class _OpenStep:
    """A step whose drafts are not made yet."""

    places: NDArray[np.int64]
    request_ids: Sequence[str]
    serials: NDArray[np.uint64]
    first: NDArray[np.uint32]
    rows: NDArray[np.uint32]
    tokens: NDArray[np.int32]
    fed: NDArray[np.int32]
    positions: NDArray[np.int32]
    hidden: NDArray[np.generic]
