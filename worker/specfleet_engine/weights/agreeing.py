"""Ranks of one engine agree on the step at which all of them exchange weights.

A drafter whose ranks run different weights for some steps drafts badly; outputs stay the target's.
Ranks take the same steps in the same order, so a step's number is enough: each rank says what it
has ready, and the first one names a step ahead. Nobody waits for anybody: a rank that says nothing
only keeps the others on the weights they have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from specfleet_common.shm.layout import ShmAbsent, ShmMismatch
from specfleet_common.shm.pages import PageReader, PageWriter

STEPS_AHEAD = 8
"""More than ranks are apart: a rank is at most two steps ahead of what the engine has been told."""
IDLE_SECONDS = 1.0
"""Without a step for so long, every rank exchanges at once: the step might be long in coming."""
_PAGE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Agreed:
    """The entry of the bank that goes live, and the number of the step before which it does."""

    sequence: int
    step: int


def agreement(ready: Sequence[int | None], *, step: int) -> Agreed | None:
    """Return what the first rank tells all at `step`, None while they have not all the same."""
    (first, *others) = ready
    if first is None or any(other != first for other in others):
        return None
    return Agreed(first, step + STEPS_AHEAD)


def is_due(agreed: Agreed | None, *, sequence: int, step: int, idle_seconds: float) -> bool:
    """Say whether a rank that has `sequence` ready exchanges before `step`."""
    if agreed is None or agreed.sequence != sequence:
        return False
    return step >= agreed.step or idle_seconds >= IDLE_SECONDS


class Gate(Protocol):
    """Lets weights go live."""

    def waits(self, sequence: int | None) -> None:
        """Tell that an entry of the bank is ready in this rank, or that none is."""

    def is_promised(self, sequence: int) -> bool:
        """Say whether other ranks count on this entry to go live here."""

    def opens(self, sequence: int, *, step: int, idle_seconds: float) -> bool:
        """Say whether the entry goes live before `step`; `idle_seconds` ago the last one ended."""


class OpenGate:
    """Of an engine that is one rank."""

    def waits(self, sequence: int | None) -> None:
        """Nobody has to know."""

    def is_promised(self, sequence: int) -> bool:
        """Nobody counts on it."""
        return False

    def opens(self, sequence: int, *, step: int, idle_seconds: float) -> bool:
        """Go."""
        return True


class RankGate:
    """One of several ranks, each with a page that the others read; `engine` names their engine."""

    def __init__(self, directory: Path, *, rank: int, num_ranks: int, engine: str) -> None:
        self._rank = rank
        self._engine = engine
        self._ready = PageWriter.create(directory / _ready_file(rank), _PAGE_BYTES)
        self._of_ranks = [_Page(directory / _ready_file(other)) for other in range(num_ranks)]
        path = directory / "ranks.agreed"
        self._agreed = _Page(path)
        self._agreeing = PageWriter.create(path, _PAGE_BYTES) if rank == 0 else None

    def waits(self, sequence: int | None) -> None:
        """Write it on this rank's page."""
        self._ready.write({"engine": self._engine, "sequence": sequence})

    def is_promised(self, sequence: int) -> bool:
        """Read the first rank's page."""
        agreed = self._read_agreed()
        return agreed is not None and agreed.sequence == sequence

    def opens(self, sequence: int, *, step: int, idle_seconds: float) -> bool:
        """Read the first rank's page, or be the first rank and write it."""
        agreed = self._read_agreed()
        if self._agreeing is not None and (agreed is None or agreed.sequence != sequence):
            agreed = self._agree(self._agreeing, step)
        return is_due(agreed, sequence=sequence, step=step, idle_seconds=idle_seconds)

    def _agree(self, page: PageWriter, step: int) -> Agreed | None:
        agreed = agreement(self._all_ready(), step=step)
        if agreed is None:
            return None
        page.write({"engine": self._engine, **asdict(agreed)})
        # A rank that took its entry back meanwhile did so before it could read of the agreement.
        if agreement(self._all_ready(), step=step) == agreed:
            return agreed
        page.write({"engine": self._engine, "sequence": 0, "step": 0})
        return None

    def _all_ready(self) -> list[int | None]:
        return [page.read(self._engine).get("sequence") for page in self._of_ranks]

    def _read_agreed(self) -> Agreed | None:
        told = self._agreed.read(self._engine)
        return Agreed(told["sequence"], told["step"]) if told else None


class _Page:
    """Another rank's page, opened when it is there."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reader: PageReader | None = None

    def read(self, engine: str) -> dict[str, Any]:
        """Return what a rank of this engine wrote; nothing where that is not to be had."""
        if self._reader is None or self._reader.is_replaced():
            try:
                self._reader = PageReader.attach(self._path)
            except (ShmAbsent, ShmMismatch):
                return {}
        told = self._reader.read()
        return told if told is not None and told.get("engine") == engine else {}


def _ready_file(rank: int) -> str:
    return f"rank-{rank}.ready"
