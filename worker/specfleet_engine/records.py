"""Write capture records into the shared-memory ring."""

from __future__ import annotations

from pathlib import Path

from specfleet_common.shm.capture import (
    BEGIN,
    END,
    STEP,
    Begin,
    End,
    Step,
    encode_begin,
    encode_end,
    encode_step,
)
from specfleet_common.shm.layout import Layout
from specfleet_common.shm.ring import RingWriter


class RingSink:
    """A `RecordSink` that never blocks: a full ring refuses the record."""

    def __init__(self, ring: RingWriter) -> None:
        self._ring = ring

    @classmethod
    def create(cls, path: Path, layout: Layout, size: int) -> RingSink:
        """Make a new ring of `size` bytes; a reader of an older one sees that it was replaced."""
        return cls(RingWriter.create(path, layout, size))

    def put(self, record: Begin | Step | End) -> bool:
        """Append one record; False when the ring is full."""
        if isinstance(record, Step):
            return self._ring.write(STEP, encode_step(record))
        if isinstance(record, Begin):
            return self._ring.write(BEGIN, encode_begin(record))
        return self._ring.write(END, encode_end(record))
