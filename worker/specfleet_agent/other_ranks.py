"""Reads the pages of an engine's ranks beside the first one, look by look."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import structlog

from specfleet_agent import ranks
from specfleet_agent.engine_page import EnginePage, PageError
from specfleet_agent.ranks import Rank
from specfleet_common.shm.layout import ShmAbsent, ShmMismatch
from specfleet_common.shm.names import page_file
from specfleet_common.shm.pages import PageReader

log = structlog.get_logger()

PATIENCE_SECONDS = 5.0
"""For ranks that differ: they write their pages four times a second, and a step may take long."""


@dataclass(frozen=True, slots=True)
class _Beat:
    """A rank's newest sign of life, and when it was first seen."""

    incarnation: str
    beats: int
    seen_at: float


class OtherRanks:
    """What they say, and since when it is not what the first rank says."""

    def __init__(self, shared: Path, *, silence_seconds: float) -> None:
        self._shared = shared
        self._silence_seconds = silence_seconds
        self._beats: dict[int, _Beat] = {}
        self._differs_since: float | None = None
        self._is_told = False
        self._num_lasting = 0

    def joined(self, first: EnginePage, *, now: float) -> EnginePage:
        """Return the engine's page: the first rank's, with what all ranks run."""
        if first.num_ranks == 1:
            return first
        others = {number: self._rank(number, first, now) for number in range(1, first.num_ranks)}
        differs = ranks.difference(first, others)
        if not differs:
            self._differs_since, self._is_told = None, False
        elif self._differs_since is None:
            self._differs_since = now
        since = self._differs_since
        is_lasting = since is not None and now - since > PATIENCE_SECONDS
        if is_lasting and not self._is_told:
            self._is_told = True
            self._num_lasting += not any(other.problem for other in others.values())
            log.warning("ranks_differ", reason=differs)
        return ranks.joined(first, others, is_lasting=is_lasting, num_lasting=self._num_lasting)

    def _rank(self, number: int, first: EnginePage, now: float) -> Rank:
        try:
            # Attached anew every time: an engine that starts again puts another file there.
            content = PageReader.attach(self._shared / page_file(number)).read()
            page = None if content is None else ranks.decode(content)
        except (ShmAbsent, ShmMismatch, PageError) as error:
            return Rank(problem=str(error))
        if page is None:
            return Rank(problem="its page is empty")
        known = self._beats.get(number)
        if known is None or (known.incarnation, known.beats) != (page.incarnation, page.beats):
            known = self._beats[number] = _Beat(page.incarnation, page.beats, now)
        if now - known.seen_at > self._silence_seconds:
            return Rank(problem=f"it has been silent for {self._silence_seconds:.0f} s")
        return ranks.rank(page, first)
