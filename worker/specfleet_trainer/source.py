"""The engine's capture ring as a source of finished sequences, whatever the engine does meanwhile.

An engine that starts again makes a new ring; what was open in the old one will never end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import structlog

from specfleet_common.shm import capture
from specfleet_common.shm.capture import CaptureError
from specfleet_common.shm.layout import Layout, ShmAbsent, ShmMismatch
from specfleet_common.shm.ring import Record, RingCorrupt, RingReader
from specfleet_trainer.joining import Joiner
from specfleet_trainer.sequences import Sequence

log = structlog.get_logger()


class Source:
    """Reads one ring after the other from the same path."""

    def __init__(self, path: Path, *, new_joiner: Callable[[], Joiner]) -> None:
        self._path = path
        self._new_joiner = new_joiner
        self._joiner = new_joiner()
        self._reader: RingReader | None = None
        self._problem = ""

    def layout(self) -> Layout | None:
        """Return the layout of the ring that is read now, None while there is no usable one.

        A ring that has been replaced is left at once: few of its requests can have ended unread.
        """
        if self._reader is None or self._reader.is_replaced():
            self._attach()
        return None if self._reader is None else self._reader.layout

    def drain(self, max_records: int) -> Iterator[Sequence]:
        """Yield the sequences that the next records end; none are waited for."""
        reader = self._reader
        if reader is None:
            return
        for _ in range(max_records):
            try:
                record = reader.read()
                if record is None:
                    return
                sequence = self._join(reader, record)
            except (RingCorrupt, CaptureError) as error:
                log.warning("capture_damaged", reason=str(error))
                continue
            if sequence is not None:
                yield sequence

    def _join(self, reader: RingReader, record: Record) -> Sequence | None:
        assert reader.layout is not None, "a ring has a layout"
        sequence = self._joiner.add(capture.decode(record, reader.layout))
        return None if sequence is None else replace(sequence, ring=reader.incarnation)

    def _attach(self) -> None:
        self._reader, problem = None, ""
        try:
            self._reader = RingReader.attach(self._path)
            self._joiner = self._new_joiner()
        except ShmAbsent:
            pass
        except ShmMismatch as error:
            problem = str(error)
            if problem != self._problem:
                log.warning("capture_unusable", reason=problem)
        self._problem = problem
