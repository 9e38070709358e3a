"""The first held-out conversations: what a candidate must not forget, whatever is served later.

They are kept in memory like everything that users wrote, so a trainer that starts again begins
another set.
"""

from __future__ import annotations

from collections.abc import Iterable

from specfleet_trainer.sequences import Sequence

MOST_CONVERSATIONS = 64


class Genesis:
    """One request of each of the first conversations, of at most `max_rows` rows together."""

    def __init__(self, *, max_rows: int) -> None:
        self._max_rows = max_rows
        self._kept: dict[int, Sequence] = {}
        self._rows = 0

    def add(self, sequence: Sequence) -> None:
        """Take a finished sequence, unless its conversation is there or there is no more room."""
        fits = self._rows + sequence.rows <= self._max_rows
        if fits and sequence.key not in self._kept and len(self._kept) < MOST_CONVERSATIONS:
            self._kept[sequence.key] = sequence
            self._rows += sequence.rows

    def besides(self, newest: Iterable[Sequence]) -> list[Sequence]:
        """Return what is kept, the oldest first, but for conversations that go on in newer traffic.

        Those are judged as what is served now.
        """
        current = {sequence.key for sequence in newest}
        return [sequence for key, sequence in self._kept.items() if key not in current]
