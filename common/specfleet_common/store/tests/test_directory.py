"""A directory as a store: whole or absent, created once."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from specfleet_common.store.base import StoreError
from specfleet_common.store.directory import DirectoryStore


def text(store: DirectoryStore, path: str) -> bytes:
    data = store.read(path)
    assert data is not None
    return bytes(data)


def test_what_was_created_can_be_read_and_listed(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path / "root")

    created = store.create("a/b/c.json", [b"one", memoryview(b"two")])

    assert created
    assert text(store, "a/b/c.json") == b"onetwo"
    assert store.list("a/b") == ["c.json"]
    assert store.list("") == ["a"]


def test_an_entry_is_never_changed(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    store.create("a", [b"first"])

    again = store.create("a", [b"second"])

    assert not again
    assert text(store, "a") == b"first"


def test_what_is_not_there_is_absent(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path / "root")
    store.create("file", [b""])

    assert store.read("nothing") is None
    assert store.read("file/below") is None
    assert text(store, "file") == b""
    assert store.list("nothing") == []


def test_a_writer_that_fails_leaves_nothing(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)

    def parts() -> Iterator[bytes]:
        yield b"half"
        raise OSError("no space left")

    with pytest.raises(StoreError, match="cannot write a/b: no space left"):
        store.create("a/b", parts())

    assert store.read("a/b") is None
    assert os.listdir(tmp_path / "a") == []


@pytest.mark.parametrize("path", ["../a", "/a", "a//b", ".hidden", "a/"])
def test_paths_stay_inside_the_store(tmp_path: Path, path: str) -> None:
    with pytest.raises(ValueError, match="expected names"):
        DirectoryStore(tmp_path).read(path)


def _create(directory: str, text: bytes, results: multiprocessing.Queue[bool]) -> None:
    store = DirectoryStore(Path(directory))
    for number in range(20):
        results.put(store.create(f"n/{number}", [text]))


def test_of_many_processes_exactly_one_creates_an_entry(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    results: multiprocessing.Queue[bool] = context.Queue()
    writers = [
        context.Process(target=_create, args=(str(tmp_path), text, results))
        for text in (b"one", b"two", b"three")
    ]
    for writer in writers:
        writer.start()
    created = [results.get(timeout=120) for _ in range(60)]
    for writer in writers:
        writer.join()
        writer.close()
    results.close()
    results.join_thread()

    assert created.count(True) == 20
