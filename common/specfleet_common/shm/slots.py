"""Two slots in one shared file, of which the newest sealed one counts: bank and pages rest on it.

A new entry goes into the slot that does not hold the newest one, so a writer that dies half-way
leaves the previous entry whole. Data moves by the kernel's read and write, not through the mapping,
and block by block, so that a writer needs no memory for it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from specfleet_common.shm.files import SharedFile

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

NOTE_BYTES = 256
"""What a slot holds besides its data, at its start."""

# Words of the control block: the newest sealed entry's number, then a cache line per slot.
SEQUENCE = 0
_SLOT_WORDS = (8, 16)
_STAMP, _NOTE_LENGTH, _LENGTH, _CHECKSUM = range(4)


@dataclass(frozen=True, slots=True)
class Slot:
    """One sealed entry, copied out."""

    sequence: int
    note: bytes
    data: bytes


def data_bytes(slot_bytes: int) -> int:
    """Return what two slots of `slot_bytes` take behind the control words."""
    return 2 * (NOTE_BYTES + slot_bytes)


def slot_bytes(file: SharedFile) -> int:
    """Return how much data one slot of the file takes."""
    return file.data_bytes // 2 - NOTE_BYTES


class SlotWriter:
    """The only writer of a file; one that replaces a dead one continues its numbers."""

    def __init__(self, file: SharedFile) -> None:
        self.slot_bytes = slot_bytes(file)
        self._file = file
        self._words = file.words

    def publish(self, note: bytes, blocks: Iterable[ReadableBuffer]) -> int:
        """Seal one entry whose data are the blocks in a row; return its number.

        ValueError when it is too large: the newest entry stays the newest then.
        """
        self._require_room(note, 0)
        sequence = self._words[SEQUENCE] + 1
        base = _SLOT_WORDS[sequence % 2]
        offset = sequence % 2 * (NOTE_BYTES + self.slot_bytes)

        self._words[base + _STAMP] = 0
        self._file.write_at(offset, note)
        checksum, length = zlib.crc32(note), 0
        for block in blocks:
            view = memoryview(block).cast("B")
            self._require_room(note, length + len(view))
            self._file.write_at(offset + NOTE_BYTES + length, view)
            checksum = zlib.crc32(view, checksum)
            length += len(view)
        self._words[base + _NOTE_LENGTH] = len(note)
        self._words[base + _LENGTH] = length
        self._words[base + _CHECKSUM] = checksum
        self._words[base + _STAMP] = sequence
        self._words[SEQUENCE] = sequence
        return sequence

    def _require_room(self, note: bytes, length: int) -> None:
        if len(note) > NOTE_BYTES or length > self.slot_bytes:
            raise ValueError(
                f"{self._file.path}: entry of {len(note)} + {length} bytes or more, "
                f"expected at most {NOTE_BYTES} + {self.slot_bytes}"
            )


class SlotReader:
    """One of any number of readers. `torn` counts reads that a writer overtook or damage spoilt."""

    def __init__(self, file: SharedFile) -> None:
        self.slot_bytes = slot_bytes(file)
        self.torn = 0
        self._file = file
        self._words = file.words

    def sequence(self) -> int:
        """Return the number of the newest sealed entry, 0 while there is none."""
        return self._words[SEQUENCE]

    def read(self) -> Slot | None:
        """Return the newest entry; None while there is none and when it could not be had whole."""
        sequence = self._words[SEQUENCE]
        if sequence == 0:
            return None
        slot = self._copy(sequence)
        if slot is None:
            self.torn += 1
        return slot

    def _copy(self, sequence: int) -> Slot | None:
        base = _SLOT_WORDS[sequence % 2]
        offset = sequence % 2 * (NOTE_BYTES + self.slot_bytes)
        note_length = self._words[base + _NOTE_LENGTH]
        length = self._words[base + _LENGTH]
        checksum = self._words[base + _CHECKSUM]
        if note_length > NOTE_BYTES or length > self.slot_bytes:
            return None
        note = self._file.read_at(offset, note_length)
        data = self._file.read_at(offset + NOTE_BYTES, length)
        # The stamp is read last: it is the entry's number only if nothing above was overwritten.
        if self._words[base + _STAMP] != sequence:
            return None
        if zlib.crc32(data, zlib.crc32(note)) != checksum:
            return None
        return Slot(sequence, note, data)
