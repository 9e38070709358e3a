"""What engine and sidecar read of each other: headers, slots, rings, captured steps."""

from __future__ import annotations

import json
import struct
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np

from specfleet_common.shm import capture
from specfleet_common.shm.bank import BankReader, BankWriter
from specfleet_common.shm.capture import Begin, CaptureError, End, Step
from specfleet_common.shm.files import create_file, open_file
from specfleet_common.shm.layout import (
    BANK,
    FORMAT,
    HEADER_BYTES,
    PAGE,
    RING,
    Layout,
    ShmMismatch,
    parse_header,
)
from specfleet_common.shm.pages import PageReader, PageWriter
from specfleet_common.shm.ring import Record, RingCorrupt, RingReader, RingWriter
from specfleet_common.shm.slots import SlotReader, SlotWriter, data_bytes
from tools.fuzz.border import Border

LAYOUT = Layout("mtp", "mimo", "0123456789abcdef", 4, "bfloat16", 3)
_SLOT_BYTES = 512
_WORDS = 24
_SHARED = "/dev/shm"


def borders() -> tuple[Border, ...]:
    """Return the borders of shared memory."""
    mismatch: tuple[type[Exception], ...] = (ShmMismatch,)
    description = json.dumps(asdict(LAYOUT)).encode()
    return (
        Border("file of a ring", _in_a_file(_read_ring), mismatch, (_file(_ring),)),
        Border("file of a bank", _in_a_file(_read_bank), mismatch, (_file(_bank),)),
        Border("file of a page", _in_a_file(_read_page), mismatch, (_file(_page),)),
        Border("description of a layout", _take_description, mismatch, (description,), True),
        Border("note of a bank", _take_note, mismatch, (b'["stock", "stock", false]',), True),
        Border("content of a page", _take_page, mismatch, (b'{"beats": 1}',), True),
        Border("words of a slot", _take_slot_words, mismatch, (bytes(8 * _WORDS),)),
        Border("words of a ring", _take_ring_words, (RingCorrupt,), (_ring_words(),)),
        Border("captured record", _take_record, (CaptureError,), tuple(_records())),
    )


def _in_a_file(read: Callable[[Path], None]) -> Callable[[bytes], None]:
    def take(data: bytes) -> None:
        with tempfile.NamedTemporaryFile(dir=_SHARED) as file:
            file.write(data)
            file.flush()
            read(Path(file.name))

    return take


def _read_ring(path: Path) -> None:
    reader = RingReader.attach(path)
    while reader.lag_bytes:
        try:
            reader.read()
        except RingCorrupt:
            return


def _read_bank(path: Path) -> None:
    reader = BankReader.attach(path)
    reader.sequence()
    reader.read()


def _read_page(path: Path) -> None:
    PageReader.attach(path).read()


def _take_description(data: bytes) -> None:
    """Seal a header around it, as a newer version might, and read the three kinds of file."""
    for kind in (RING, BANK, PAGE):
        fields = struct.pack("<8sIIQQ", kind.magic, FORMAT, len(data), 7, 9000)
        checksum = struct.pack("<I", zlib.crc32(data, zlib.crc32(fields)))
        whole = (fields + checksum + data).ljust(HEADER_BYTES, b"\0")[:HEADER_BYTES]
        parse_header(kind, whole, name="f", file_bytes=9000)


def _take_note(data: bytes) -> None:
    with tempfile.TemporaryDirectory(dir=_SHARED) as directory:
        path = Path(directory) / "bank"
        SlotWriter(create_file(path, BANK, LAYOUT, data_bytes=data_bytes(_SLOT_BYTES))).publish(
            data[:256], [b"weights"]
        )
        entry = BankReader.attach(path).read()
    assert entry is None or isinstance(entry.digest, str)


def _take_page(data: bytes) -> None:
    with tempfile.TemporaryDirectory(dir=_SHARED) as directory:
        path = Path(directory) / "page"
        SlotWriter(create_file(path, PAGE, None, data_bytes=data_bytes(_SLOT_BYTES))).publish(
            b"", [data[:_SLOT_BYTES]]
        )
        content = PageReader.attach(path).read()
    assert content is None or isinstance(content, dict)


def _take_slot_words(data: bytes) -> None:
    """Overwrite the control words: what a damaged writer leaves."""
    with tempfile.TemporaryDirectory(dir=_SHARED) as directory:
        path = Path(directory) / "bank"
        BankWriter.create(path, LAYOUT, _SLOT_BYTES).publish([b"weights"], "stock", "stock")
        file = open_file(path, BANK, None, writable=True)
        words = data[: 8 * _WORDS].ljust(8 * _WORDS, b"\0")
        for index, (word,) in enumerate(struct.iter_unpack("<Q", words)):
            file.words[index] = word
        SlotReader(file).read()


def _take_ring_words(data: bytes) -> None:
    """Overwrite the words and what lies in the ring, with a record whose checksum is right."""
    padded = data.ljust(40, b"\0")
    head, tail, length, kind = struct.unpack_from("<QQQI", padded)
    with tempfile.TemporaryDirectory(dir=_SHARED) as directory:
        path = Path(directory) / "ring"
        RingWriter.create(path, LAYOUT, 256)
        file = open_file(path, RING, None, writable=True)
        file.words[0], file.words[8] = head, tail
        fields = struct.pack("<IIQQ", 0x44434552, kind, length, tail)
        start = tail % 256 // 32 * 32
        file.data[start : start + 32] = fields + struct.pack("<I4x", zlib.crc32(fields))
        reader = RingReader(file)
        for _ in range(10):
            record = reader.read()
            if record is None:
                return
            assert len(record.payload) <= 256


def _take_record(data: bytes) -> None:
    """Take the first byte for the kind of the record, and the rest for its payload."""
    kind = data[0] if data else 0
    capture.decode(Record(kind, data[1:]), LAYOUT)


def _records() -> list[bytes]:
    step = Step(
        number=7,
        digest="stock",
        serials=np.array([4, 5], np.uint64),
        first=np.array([0, 2], np.uint32),
        rows=np.array([2, 1], np.uint32),
        drafts=np.array([[1, 2, 3], [-1, -1, -1]], np.int32),
        tokens=np.arange(3, dtype=np.int32),
        fed=np.arange(3, dtype=np.int32),
        positions=np.arange(3, dtype=np.int32),
        hidden=np.arange(12, dtype=np.uint16).reshape(3, 4),
    )
    parts = (
        (capture.BEGIN, capture.encode_begin(Begin(4, 1 << 60, True, True, 3))),
        (capture.STEP, capture.encode_step(step)),
        (capture.END, capture.encode_end(End(4, 9, "finished"))),
    )
    return [bytes([kind]) + b"".join(map(bytes, some)) for kind, some in parts]


def _ring_words() -> bytes:
    return struct.pack("<QQQI", 64, 0, 20, capture.END)


def _file(write: Callable[[Path], None]) -> bytes:
    with tempfile.TemporaryDirectory(dir=_SHARED) as directory:
        path = Path(directory) / "file"
        write(path)
        return path.read_bytes()


def _ring(path: Path) -> None:
    RingWriter.create(path, LAYOUT, 256).write(3, [bytes(20)])


def _bank(path: Path) -> None:
    BankWriter.create(path, LAYOUT, 64).publish([b"weights"], "stock", "stock")


def _page(path: Path) -> None:
    PageWriter.create(path, 64).write({"beats": 1})
