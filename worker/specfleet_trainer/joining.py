"""Joining what the engine said about a request, step by step, into one sequence.

Rows are keyed by request and position, and the last write wins: a preempted request starts again.
Rows after a gap are lost, because a head cannot attend to what is missing before them.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specfleet_common.shm.capture import Begin, End, Step
from specfleet_trainer.sequences import Drafts, Int32, Sequence

FINISHED = "finished"
_FIRST_CAPACITY = 64


@dataclass(slots=True, eq=False)
class _Rows:
    """The rows of one open request; the arrays grow by doubling."""

    first_position: int
    tokens: Int32
    fed: Int32
    hidden: NDArray[Any]
    count: int = 0
    drafts: dict[int, Drafts] = field(default_factory=dict)

    @classmethod
    def empty(cls, first_position: int, like: NDArray[Any]) -> _Rows:
        return cls(
            first_position=first_position,
            tokens=np.empty(_FIRST_CAPACITY, np.int32),
            fed=np.empty(_FIRST_CAPACITY, np.int32),
            hidden=np.empty((_FIRST_CAPACITY, like.shape[1]), like.dtype),
        )

    def write(self, row: int, tokens: Int32, fed: Int32, hidden: NDArray[Any]) -> None:
        """Put rows at `row`, which is at most `count`; what they drafted before is forgotten."""
        end = row + len(tokens)
        if row < self.count:
            self.drafts = {at: d for at, d in self.drafts.items() if not row <= at < end}
        while end > len(self.tokens):
            self.tokens = np.concatenate([self.tokens, np.empty_like(self.tokens)])
            self.fed = np.concatenate([self.fed, np.empty_like(self.fed)])
            self.hidden = np.concatenate([self.hidden, np.empty_like(self.hidden)])
        self.tokens[row:end], self.fed[row:end], self.hidden[row:end] = tokens, fed, hidden
        self.count = max(self.count, end)


@dataclass(slots=True, eq=False)
class _Request:
    begin: Begin
    rows: _Rows | None = None
    is_whole: bool = True


class Joiner:
    """Turns records into sequences of at most `max_rows` rows.

    Requests whose end never comes are forgotten, the oldest first, when more than `max_open_rows`
    rows are held; each open request counts as one row more, because its rows may be lost as well.
    """

    def __init__(self, *, max_rows: int, max_open_rows: int) -> None:
        self._max_rows = max_rows
        self._max_open_rows = max_open_rows
        self._requests: OrderedDict[int, _Request] = OrderedDict()
        self._open_rows = 0

    def add(self, record: Begin | Step | End) -> Sequence | None:
        """Take a record; return the sequence it ends, None where there is none worth having."""
        if isinstance(record, End):
            request = self._take(record.serial)
            return None if request is None else _sequence(request, record)
        if isinstance(record, Begin):
            self._take(record.serial)
            self._requests[record.serial] = _Request(record)
        else:
            for index, serial in enumerate(record.serials.tolist()):
                if serial in self._requests:
                    self._extend(self._requests[serial], record, index)
        while self._open_rows + len(self._requests) > self._max_open_rows:
            self._take(next(iter(self._requests)))
        return None

    def _take(self, serial: int) -> _Request | None:
        request = self._requests.pop(serial, None)
        if request is not None and request.rows is not None:
            self._open_rows -= request.rows.count
        return request

    def _extend(self, request: _Request, step: Step, index: int) -> None:
        start, count = int(step.first[index]), int(step.rows[index])
        if count == 0:
            return
        hidden = step.hidden
        assert isinstance(hidden, np.ndarray), "a decoded step has its hidden states as an array"
        position = int(step.positions[start])
        held = request.rows
        if held is None or position < held.first_position:
            self._open_rows -= 0 if held is None else held.count
            held = request.rows = _Rows.empty(position, hidden)
        row, before = position - held.first_position, held.count
        stop = start + min(count, self._max_rows - row)
        if row > before or stop < start + count:
            request.is_whole = False
        if row > before or stop <= start:
            return
        held.write(row, step.tokens[start:stop], step.fed[start:stop], hidden[start:stop])
        self._open_rows += held.count - before
        if stop == start + count and step.drafts[index, 0] >= 0:
            held.drafts[row + count - 1] = Drafts(step.digest, tuple(step.drafts[index].tolist()))


def _sequence(request: _Request, end: End) -> Sequence | None:
    """Cut the rows to what counts and what is known to be true."""
    begin, held = request.begin, request.rows
    if held is None:
        return None
    length = max(0, end.length - held.first_position)
    is_whole = request.is_whole and end.reason == FINISHED and length <= held.count + 1
    # The token fed last is a true one only where the request went on to its end.
    known = np.append(held.tokens[: held.count], held.fed[held.count - 1])
    known = known[: min(held.count + is_whole, length)]
    rows = len(known) - 1
    if rows < 1:
        return None
    return Sequence(
        tokens=known,
        fed=held.fed[:rows].copy(),
        hidden=held.hidden[:rows].copy(),
        prompt_tokens=begin.prompt_tokens,
        first_position=held.first_position,
        serial=begin.serial,
        key=begin.key,
        held_out=begin.held_out,
        complete=begin.complete and is_whole and held.first_position == 0,
        drafts={row: drafts for row, drafts in held.drafts.items() if row < rows},
    )
