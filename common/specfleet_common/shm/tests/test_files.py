"""Files appear whole or not at all, and take their memory when they are created."""

from __future__ import annotations

import errno
import gc
import os
from pathlib import Path

import pytest

from specfleet_common.shm.files import DATA_OFFSET, create_file, open_file
from specfleet_common.shm.layout import RING, ShmAbsent, ShmMismatch
from specfleet_common.shm.tests.building import layout


def test_what_one_side_stores_the_other_side_loads(tmp_path: Path) -> None:
    created = create_file(tmp_path / "f", RING, layout(), data_bytes=64)
    opened = open_file(tmp_path / "f", RING, layout(), writable=False)

    created.words[3] = 2**64 - 1
    created.data[8:11] = b"abc"
    created.write_at(11, b"def")

    assert opened.words[3] == 2**64 - 1
    assert opened.read_at(8, 6) == b"abcdef"
    assert bytes(opened.data[8:14]) == b"abcdef"
    assert opened.header == created.header


def test_a_file_opened_for_reading_cannot_be_damaged(tmp_path: Path) -> None:
    create_file(tmp_path / "f", RING, layout(), data_bytes=64)
    opened = open_file(tmp_path / "f", RING, None, writable=False)

    with pytest.raises(TypeError):
        opened.words[0] = 1
    with pytest.raises(OSError, match="Bad file descriptor"):
        opened.write_at(0, b"x")


def test_reading_stops_where_the_file_was_cut(tmp_path: Path) -> None:
    file = create_file(tmp_path / "f", RING, layout(), data_bytes=64)
    os.truncate(tmp_path / "f", DATA_OFFSET + 10)

    assert file.read_at(0, 64) == bytes(10)


def test_an_absent_file_is_no_mismatch(tmp_path: Path) -> None:
    with pytest.raises(ShmAbsent, match="no capture ring yet"):
        open_file(tmp_path / "f", RING, None, writable=True)


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    create_file(tmp_path / "f", RING, layout(), data_bytes=64)
    os.truncate(tmp_path / "f", DATA_OFFSET)

    with pytest.raises(ShmMismatch, match=rf"{DATA_OFFSET} bytes, but its header says"):
        open_file(tmp_path / "f", RING, None, writable=True)


def test_another_layout_is_refused_by_the_files_name(tmp_path: Path) -> None:
    create_file(tmp_path / "f", RING, layout(family="eagle3"), data_bytes=64)

    with pytest.raises(ShmMismatch, match=r"/f: family is 'eagle3', expected 'mtp'"):
        open_file(tmp_path / "f", RING, layout(), writable=True)


def test_a_half_created_file_is_not_there_and_is_swept_by_the_next(tmp_path: Path) -> None:
    leftover = tmp_path / ".f.0123456789abcdef"
    leftover.write_bytes(b"half")

    create_file(tmp_path / "f", RING, layout(), data_bytes=64)

    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_a_full_file_system_refuses_at_creation_and_keeps_the_old_file() -> None:
    directory = Path("/dev/shm")
    path = directory / f"specfleet-test-{os.getpid()}"
    total_bytes = os.statvfs(directory).f_blocks * os.statvfs(directory).f_frsize
    old = create_file(path, RING, layout(), data_bytes=64)
    try:
        with pytest.raises(OSError, match=r"needs \d+ bytes, /dev/shm has \d+ free") as failure:
            create_file(path, RING, layout(), data_bytes=total_bytes + 2**20)

        assert failure.value.errno == errno.ENOSPC
        assert not old.is_replaced()
        assert list(directory.glob(f".{path.name}.*")) == []
    finally:
        path.unlink()


def test_a_file_is_replaced_once_another_stands_at_its_path(tmp_path: Path) -> None:
    file = create_file(tmp_path / "f", RING, layout(), data_bytes=64)
    seen = [file.is_replaced()]

    (tmp_path / "f").unlink()
    seen.append(file.is_replaced())
    successor = create_file(tmp_path / "f", RING, layout(), data_bytes=64)
    seen.append(file.is_replaced())

    assert seen == [False, False, True]
    assert successor.header.incarnation != file.header.incarnation


def test_a_forgotten_file_is_closed(tmp_path: Path) -> None:
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))

    for _ in range(5):
        create_file(tmp_path / "f", RING, layout(), data_bytes=64)

    assert len(os.listdir("/proc/self/fd")) == before
