"""The weight bank: where the agent puts the next drafter weights and the engine finds them.

It carries a safetensors file's bytes and what they are called. It neither decodes them nor decides
whether they may serve.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from specfleet_common.shm.files import SharedFile, create_file, open_file
from specfleet_common.shm.layout import BANK, Layout
from specfleet_common.shm.slots import SlotReader, SlotWriter, data_bytes

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

LABELS = ("stock", "version", "local")


@dataclass(frozen=True, slots=True)
class BankEntry:
    """One drafter's weights; `sequence` grows by one with every entry of a bank."""

    sequence: int
    digest: str
    label: str
    data: bytes
    anew: bool = False
    """Write the weights into the engine even if it runs them already."""


class BankWriter:
    """The agent's side."""

    def __init__(self, file: SharedFile) -> None:
        self.layout = file.layout
        self.incarnation = file.header.incarnation
        self._file = file
        self._slots = SlotWriter(file)

    @classmethod
    def create(cls, path: Path, layout: Layout, slot_bytes: int) -> BankWriter:
        """Put a new, empty bank at `path` for weights of up to `slot_bytes`."""
        return cls(create_file(path, BANK, layout, data_bytes=data_bytes(slot_bytes)))

    @classmethod
    def attach(cls, path: Path, layout: Layout | None = None) -> BankWriter:
        """Go on with the bank of a dead writer; None accepts every layout."""
        return cls(open_file(path, BANK, layout, writable=True))

    @property
    def slot_bytes(self) -> int:
        """The largest weights this bank can hold."""
        return self._slots.slot_bytes

    def publish(
        self, blocks: Iterable[ReadableBuffer], digest: str, label: str, *, anew: bool = False
    ) -> int:
        """Seal weights that come in blocks, then make them the newest; return their number."""
        if label not in LABELS:
            raise ValueError(f"{self._file.path}: label is {label!r}, expected one of {LABELS}")
        return self._slots.publish(json.dumps([digest, label, anew]).encode(), blocks)


class BankReader:
    """The engine's side; it has the file open for reading only."""

    def __init__(self, file: SharedFile) -> None:
        self.layout = file.layout
        self.incarnation = file.header.incarnation
        self._file = file
        self._slots = SlotReader(file)

    @classmethod
    def attach(cls, path: Path, layout: Layout | None = None) -> BankReader:
        """Open the bank at `path`; None accepts every layout."""
        return cls(open_file(path, BANK, layout, writable=False))

    def sequence(self) -> int:
        """Return the number of the newest sealed entry, 0 while there is none."""
        return self._slots.sequence()

    @property
    def torn(self) -> int:
        """How many reads found no whole entry."""
        return self._slots.torn

    def is_replaced(self) -> bool:
        """Say whether a new bank stands at the path."""
        return self._file.is_replaced()

    def read(self) -> BankEntry | None:
        """Copy out the newest entry; None while there is none and when it could not be had whole.

        After None with a sequence other than 0, what is there may be damaged for good: wait for the
        next number rather than copying again at every step.
        """
        slot = self._slots.read()
        if slot is None:
            return None
        try:
            digest, label, *anew = json.loads(slot.note)
        except (ValueError, TypeError, RecursionError):
            digest = label = None
        if not isinstance(digest, str) or label not in LABELS:
            self._slots.torn += 1
            return None
        return BankEntry(slot.sequence, digest, label, slot.data, anew=anew == [True])
