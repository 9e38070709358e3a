"""Which recent sequences to train on next, within bounds of memory and of repetition.

New sequences come first, so that every one is used; seen ones fill up the batch at random, each a
limited number of times, so that an idle engine's trainer waits instead of learning by heart.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specfleet_trainer.sequences import Sequence


@dataclass(slots=True, eq=False)
class Kept:
    """A sequence, how often it has been used, and what a user of it wants to find again."""

    sequence: Sequence
    uses: int = 0
    own: NDArray[np.int32] | None = None
    """[training rows, depths, k] the tokens that the head found most likely."""
    own_uses: int = 0
    """How often `own` has been used."""


class Buffer:
    """Holds at most `max_rows` rows, new and seen; the oldest give way."""

    def __init__(self, *, max_rows: int, max_uses: int) -> None:
        self._max_rows = max_rows
        self._max_uses = max_uses
        self._new: deque[Sequence] = deque()
        self._seen: deque[Kept] = deque()
        self._rows = 0

    def __len__(self) -> int:
        """Return how many sequences can still be used."""
        return len(self._new) + len(self._seen)

    def add(self, sequence: Sequence) -> None:
        """Take a finished sequence; seen ones make room before new ones do."""
        self._new.append(sequence)
        self._rows += sequence.rows
        while self._rows > self._max_rows and len(self) > 1:
            oldest = self._seen.popleft().sequence if self._seen else self._new.popleft()
            self._rows -= oldest.rows

    def take(self, rows: int, random: np.random.Generator) -> list[Kept]:
        """Return sequences of up to `rows` rows together, at least one while there is any.

        A sequence longer than `rows` comes alone: a head must see all that was before a row.
        """
        taken: list[Kept] = []
        left = rows
        while self._new and (self._new[0].rows <= left or not taken):
            taken.append(Kept(self._new.popleft()))
            left -= taken[-1].sequence.rows
        again = [self._seen[index] for index in random.permutation(len(self._seen))]
        for seen in again:
            if seen.sequence.rows <= left or not taken:
                taken.append(seen)
                left -= seen.sequence.rows
        self._count_use(taken)
        return taken

    def _count_use(self, taken: list[Kept]) -> None:
        self._seen.extend(seen for seen in taken if seen.uses == 0)
        for seen in taken:
            seen.uses += 1
        worn = [seen for seen in taken if seen.uses >= self._max_uses]
        for seen in worn:
            self._seen.remove(seen)
            self._rows -= seen.sequence.rows


class HeldOut:
    """The newest complete held-out sequences, at most `max_rows` rows: scored, never trained."""

    def __init__(self, *, max_rows: int) -> None:
        self._max_rows = max_rows
        self._kept: deque[Sequence] = deque()
        self._rows = 0

    @property
    def sequences(self) -> list[Sequence]:
        """Return what is kept, the oldest first."""
        return list(self._kept)

    def add(self, sequence: Sequence) -> None:
        """Take a finished sequence; the oldest give way."""
        self._kept.append(sequence)
        self._rows += sequence.rows
        while self._rows > self._max_rows and len(self._kept) > 1:
            self._rows -= self._kept.popleft().rows
