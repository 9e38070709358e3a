"""A ring of variable-size records from one writer to one reader in another process.

It moves bytes; `capture` says what they mean. The writer never waits: a full ring refuses. A record
counts once the writer has advanced `head`, and is consumed once the reader has advanced `tail`;
both only grow, and a position's place in the data is the position modulo the capacity.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from specfleet_common.shm.files import SharedFile, create_file, open_file
from specfleet_common.shm.layout import RING, Layout, ShmMismatch

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

# Words of the control block; the two sides write on different cache lines.
HEAD = 0
TAIL = 8

USUAL_BYTES = 64 << 20
"""How large the ring of an engine is that says nothing else."""
HEADER_BYTES = 32
"""A record's header; records are multiples of it, so that no header crosses the ring's end."""

_MAGIC = 0x44434552
_FIELDS = struct.Struct("<IIQQ")
_CHECKSUM = struct.Struct("<I4x")


class RingCorrupt(ValueError):
    """What lies at the read position is not a record; the reader has skipped to the newest end."""


@dataclass(frozen=True, slots=True)
class Record:
    """One record, copied out of the ring."""

    kind: int
    payload: bytes


def record_bytes(length: int) -> int:
    """Return what a payload of `length` bytes takes in the ring."""
    return HEADER_BYTES + -(-length // HEADER_BYTES) * HEADER_BYTES


class RingWriter:
    """The engine's side. `dropped` counts the records that found no room."""

    def __init__(self, file: SharedFile) -> None:
        self.layout = file.layout
        self.incarnation = file.header.incarnation
        self.capacity_bytes = file.data_bytes
        self.dropped = 0
        self._words = file.words
        self._data = file.data
        self._head = 0

    @classmethod
    def create(cls, path: Path, layout: Layout, capacity_bytes: int) -> RingWriter:
        """Put a new, empty ring at `path`; a reader of an older one sees that it is replaced."""
        capacity = -(-capacity_bytes // HEADER_BYTES) * HEADER_BYTES
        return cls(create_file(path, RING, layout, data_bytes=capacity, populate=True))

    def write(self, kind: int, parts: Sequence[ReadableBuffer]) -> bool:
        """Append one record made of `parts`, or count a drop and return False when it is full."""
        views = [memoryview(part).cast("B") for part in parts if memoryview(part).nbytes]
        length = sum(map(len, views))
        size = record_bytes(length)
        head = self._head
        used = head - self._words[TAIL]
        if used < 0 or size > self.capacity_bytes - used:
            self.dropped += 1
            # Stored again so that a reader misled by a damaged head finds its way back.
            self._words[HEAD] = head
            return False

        start = head % self.capacity_bytes
        offset = start + HEADER_BYTES
        for view in views:
            offset = self._put(offset, view)
        fields = _FIELDS.pack(_MAGIC, kind, length, head)
        self._data[start : start + HEADER_BYTES] = fields + _CHECKSUM.pack(zlib.crc32(fields))
        self._head = head + size
        self._words[HEAD] = self._head
        return True

    def _put(self, offset: int, view: memoryview) -> int:
        """Copy `view` to `offset`, going on at the start where the ring ends."""
        begin = offset % self.capacity_bytes
        room = self.capacity_bytes - begin
        if len(view) <= room:
            self._data[begin : begin + len(view)] = view
        else:
            self._data[begin : begin + room] = view[:room]
            self._data[0 : len(view) - room] = view[room:]
        return offset + len(view)


class RingReader:
    """The trainer's side. `corruptions` counts how often it had to skip to the newest end."""

    def __init__(self, file: SharedFile) -> None:
        self.layout = file.layout
        self.incarnation = file.header.incarnation
        self.capacity_bytes = file.data_bytes
        self.corruptions = 0
        self._file = file
        self._words = file.words
        self._data = file.data

    @classmethod
    def attach(cls, path: Path, layout: Layout | None = None) -> RingReader:
        """Continue where the last reader of this ring stopped; None accepts every layout."""
        file = open_file(path, RING, layout, writable=True)
        if not file.data_bytes or file.data_bytes % HEADER_BYTES:
            raise ShmMismatch(
                f"{path}: room for {file.data_bytes} bytes, expected a multiple of {HEADER_BYTES}"
            )
        return cls(file)

    @property
    def lag_bytes(self) -> int:
        """How much was written and not yet read."""
        return max(0, self._words[HEAD] - self._words[TAIL])

    def is_replaced(self) -> bool:
        """Say whether a new ring stands at the path; what is left in this one can still be read."""
        return self._file.is_replaced()

    def read(self) -> Record | None:
        """Consume the oldest record; None while there is none, RingCorrupt where it is damaged."""
        head = self._words[HEAD]
        tail = self._words[TAIL]
        if head == tail:
            return None
        kind, length = self._parse(head, tail)
        payload = self._get(tail + HEADER_BYTES, length)
        self._words[TAIL] = tail + record_bytes(length)
        return Record(kind, payload)

    def _parse(self, head: int, tail: int) -> tuple[int, int]:
        """Return kind and length of the record at `tail`."""
        available = head - tail
        if not 0 < available <= self.capacity_bytes or head % HEADER_BYTES or tail % HEADER_BYTES:
            raise self._corrupt(
                head,
                f"head {head} and tail {tail} are not of a ring of {self.capacity_bytes} bytes",
            )
        start = tail % self.capacity_bytes
        header = self._data[start : start + HEADER_BYTES].tobytes()
        magic, kind, length, position = _FIELDS.unpack_from(header)
        (checksum,) = _CHECKSUM.unpack_from(header, _FIELDS.size)
        if magic != _MAGIC or checksum != zlib.crc32(header[: _FIELDS.size]):
            raise self._corrupt(head, f"{header.hex()} at {tail} is no record")
        if position != tail or record_bytes(length) > available:
            raise self._corrupt(
                head, f"record of position {position} and {length} bytes at {tail}, head is {head}"
            )
        return kind, length

    def _corrupt(self, head: int, what: str) -> RingCorrupt:
        self._words[TAIL] = head
        self.corruptions += 1
        return RingCorrupt(f"{self._file.path}: {what}; skipped to the newest end")

    def _get(self, offset: int, length: int) -> bytes:
        begin = offset % self.capacity_bytes
        room = self.capacity_bytes - begin
        if length <= room:
            return self._data[begin : begin + length].tobytes()
        return b"".join((self._data[begin : begin + room], self._data[0 : length - room]))
