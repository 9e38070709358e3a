"""What only a directory store has: files that a killed writer leaves behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from specfleet_common.store.base import StoreError
from specfleet_common.store.directory import DirectoryStore, leftovers, remove_leftovers

HOUR = 3600.0


def test_a_writer_that_fails_leaves_no_file(tmp_path: Path) -> None:
    def parts() -> Iterator[bytes]:
        yield b"half"
        raise OSError("no space left")

    with pytest.raises(StoreError):
        DirectoryStore(tmp_path).create("a/b", parts())

    assert os.listdir(tmp_path / "a") == []


def test_only_what_was_not_written_to_for_an_hour_is_left_over() -> None:
    changed_at = {Path("old"): 0.0, Path("young"): 1.0}

    assert leftovers(changed_at, now=HOUR + 0.5) == [Path("old")]


def test_leftovers_are_removed_and_nothing_else(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    store.create("l/versions/0/manifest.json", [b"{}"])
    folder = tmp_path / "l" / "versions" / "0"
    left = folder / f".drafter.safetensors.{'0123456789abcdef'}"
    for path in (left, folder / ".somebody-elses", tmp_path / ".run.lock"):
        path.write_bytes(b"half")

    early = remove_leftovers(tmp_path, now=left.stat().st_mtime + HOUR - 1)
    late = remove_leftovers(tmp_path, now=left.stat().st_mtime + HOUR + 1)

    assert (early, late) == (0, 1)
    assert sorted(os.listdir(folder)) == [".somebody-elses", "manifest.json"]
    assert (tmp_path / ".run.lock").exists()


def test_a_store_that_is_not_there_yet_has_no_leftovers(tmp_path: Path) -> None:
    assert remove_leftovers(tmp_path / "nothing", now=0.0) == 0
