"""Turn observed steps into capture records: all rows of the followed requests, and drafts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

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

    def follows(self, request_id: str) -> bool:
        """Say whether a request is followed now."""
        return self._following.get(request_id) is not None

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
        # Lists, not arrays: few calls of numpy cost less than many on so few numbers.
        firsts, lasts = batch.first.tolist(), batch.last.tolist()
        tokens, next_tokens = batch.tokens.tolist(), batch.next_tokens.tolist()
        sampled = batch.sampled.tolist()
        step = _OpenStep()
        for place, request_id in enumerate(batch.request_ids):
            followed = self._following.get(request_id)
            if followed is None:
                continue
            first = firsts[place]
            position = int(batch.positions[first])
            end = lasts[place] + 1
            following = [*tokens[first + 1 : end], next_tokens[place]]
            followed.extend(position, tokens[first:end])
            if sampled[place]:
                followed.extend(position + end - first, following[-1:])
            rows = min(end - first, followed.longest - position)
            if rows <= 0:
                continue
            step.places.append(place)
            step.request_ids.append(request_id)
            step.serials.append(followed.serial)
            step.first.append(len(step.index))
            step.rows.append(rows)
            step.index.extend(range(first, first + rows))
            step.tokens.extend(tokens[first : first + rows])
            step.fed.extend(following[:rows])
            step.positions.extend(range(position, position + rows))
        if step.places:
            # The runner uses its memory again before the drafts are there.
            step.hidden = batch.hidden[step.index]
            self._open = step

    def drafted(self, drafts: NDArray[np.int32], drafter: str) -> None:
        """Write the step: its rows, and what `drafter` proposed after them."""
        step, self._open = self._open, None
        if step is None:
            return
        proposed = drafts.tolist()
        record = Step(
            number=self._number,
            digest=drafter,
            serials=np.array(step.serials, np.uint64),
            first=np.array(step.first, np.uint32),
            rows=np.array(step.rows, np.uint32),
            drafts=np.array([proposed[place] for place in step.places], np.int32),
            tokens=np.array(step.tokens, np.int32),
            fed=np.array(step.fed, np.int32),
            positions=np.array(step.positions, np.int32),
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
        self.lost(request_ids)

    def lost(self, request_ids: Sequence[str]) -> None:
        """End requests whose rows of a step were not copied."""
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


def snapshot(capture: Capture | None) -> Mapping[str, int]:
    """Return what was captured as plain values; all zero where nothing is captured."""
    counts = CaptureCounts() if capture is None else capture.counts
    return {**asdict(counts), "followed": 0 if capture is None else capture.followed}


@dataclass(slots=True)
class _OpenStep:
    """A step whose drafts are not made yet; `places` and `index` say where it is in the batch."""

    places: list[int] = field(default_factory=list)
    request_ids: list[str] = field(default_factory=list)
    serials: list[int] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    index: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    fed: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    hidden: NDArray[Any] = field(default_factory=lambda: np.empty(0))
