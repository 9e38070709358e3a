"""Files whose checksums are right and whose content another version, or nobody, has written."""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import asdict
from pathlib import Path

import pytest

from specfleet_common.shm.bank import BankReader
from specfleet_common.shm.capture import STEP, CaptureError, decode, encode_step
from specfleet_common.shm.files import create_file
from specfleet_common.shm.layout import (
    BANK,
    FORMAT,
    HEADER_BYTES,
    PAGE,
    RING,
    Header,
    ShmMismatch,
    pack_header,
    parse_header,
)
from specfleet_common.shm.pages import PageReader
from specfleet_common.shm.ring import Record, RingReader
from specfleet_common.shm.slots import SlotWriter, data_bytes
from specfleet_common.shm.tests.building import layout, step


def bank_with(path: Path, note: bytes) -> BankReader:
    file = create_file(path, BANK, layout(), data_bytes=data_bytes(64))
    SlotWriter(file).publish(note, [b"weights"])
    return BankReader.attach(path)


@pytest.mark.parametrize(
    "note",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\xff", id="no-text"),
        pytest.param(b"{}", id="no-list"),
        pytest.param(b'["d"]', id="too-short"),
        pytest.param(b'[1, "stock"]', id="no-digest"),
        pytest.param(b'["d", "newer"]', id="unknown-label"),
        pytest.param(b"[" * 200, id="deep"),
    ],
)
def test_an_entry_that_says_nothing_of_use_is_torn(tmp_path: Path, note: bytes) -> None:
    bank = bank_with(tmp_path / "bank", note)

    assert bank.read() is None
    assert bank.torn == 1


@pytest.mark.parametrize("content", [b"", b"[]", b"5", b"\xff", b"{", b"[" * 60])
def test_a_page_that_is_no_object_is_torn(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "page"
    SlotWriter(create_file(path, PAGE, None, data_bytes=data_bytes(64))).publish(b"", [content])
    page = PageReader.attach(path)

    assert page.read() is None
    assert page.torn == 1


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        pytest.param({"rank": 3}, "not one of this version", id="a-field-more"),
        pytest.param({"hidden_size": "4"}, "not one of this version", id="text"),
        pytest.param({"hidden_size": 4.0}, "expected texts and numbers", id="no-whole-number"),
        pytest.param({"hidden_size": 1 << 40}, "expected texts and numbers", id="gigantic"),
        pytest.param({"family": ["mtp"]}, "expected texts and numbers", id="a-list"),
        pytest.param({"hidden_dtype": "float8"}, "not one of this version", id="dtype"),
    ],
)
def test_a_layout_of_another_version_is_refused(changes: dict[str, object], reason: str) -> None:
    description = json.dumps({**asdict(layout()), **changes}).encode()
    fields = struct.pack("<8sIIQQ", BANK.magic, FORMAT, len(description), 1, 9000)
    checksum = struct.pack("<I", zlib.crc32(description, zlib.crc32(fields)))
    data = (fields + checksum + description).ljust(HEADER_BYTES, b"\0")

    with pytest.raises(ShmMismatch, match=reason):
        parse_header(BANK, data, name="bank", file_bytes=9000)


def test_a_bank_without_a_layout_is_refused(tmp_path: Path) -> None:
    create_file(tmp_path / "bank", BANK, None, data_bytes=data_bytes(64))

    with pytest.raises(ShmMismatch, match="weight bank without a layout, expected one"):
        BankReader.attach(tmp_path / "bank")


def test_a_file_that_ends_in_its_words_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "page"
    path.write_bytes(pack_header(PAGE, Header(1, 5000, None)).ljust(5000, b"\0"))

    with pytest.raises(ShmMismatch, match="5000 bytes, expected a statistics page of 8192"):
        PageReader.attach(path)


@pytest.mark.parametrize("room", [0, 40])
def test_a_ring_in_which_no_record_fits_is_refused(tmp_path: Path, room: int) -> None:
    create_file(tmp_path / "ring", RING, layout(), data_bytes=room)

    with pytest.raises(ShmMismatch, match=f"room for {room} bytes, expected a multiple of 32"):
        RingReader.attach(tmp_path / "ring")


def test_a_drafter_whose_name_is_no_text_is_refused() -> None:
    payload = bytearray(b"".join(map(bytes, encode_step(step()))))
    payload[32] = 0xFF

    with pytest.raises(CaptureError, match=r"the drafter is b'.xff"):
        decode(Record(STEP, bytes(payload)), layout())
