"""What every store promises: entries are whole or absent, and created once."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator

import pytest

from specfleet_common.store.base import Store, StoreError
from specfleet_common.store.location import Location
from specfleet_common.store.opening import open_store
from specfleet_common.store.testing import ENVIRONMENT


def text(store: Store, path: str) -> bytes:
    data = store.read(path)
    assert data is not None
    return bytes(data)


def test_what_was_created_can_be_read_and_listed(store: Store) -> None:
    created = store.create("a/b/c.json", [b"one", memoryview(b"two")])

    assert created
    assert text(store, "a/b/c.json") == b"onetwo"
    assert store.list("a/b") == ["c.json"]
    assert store.list("") == ["a"]


def test_an_entry_is_never_changed(store: Store) -> None:
    store.create("a", [b"first"])

    again = store.create("a", [b"second"])

    assert not again
    assert text(store, "a") == b"first"


def test_a_large_entry_is_created_once_too(store: Store) -> None:
    block = bytes(1 << 20)

    created = [store.create("a/large", (block for _ in range(3))) for _ in range(2)]

    assert created == [True, False]
    assert text(store, "a/large") == 3 * block


def test_what_is_not_there_is_absent(store: Store) -> None:
    store.create("file", [b""])

    assert store.read("nothing") is None
    assert store.read("file/below") is None
    assert text(store, "file") == b""
    assert store.list("nothing") == []


def test_names_are_listed_sorted_and_once(store: Store) -> None:
    for path in ("v/10/a", "v/9/a", "v/9/b", "v/x"):
        store.create(path, [b""])

    assert store.list("v") == ["10", "9", "x"]


def test_what_is_read_outlives_the_store(location: Location) -> None:
    store = open_store(location, ENVIRONMENT)
    store.create("a", [b"text"])

    data = store.read("a")
    del store

    assert data is not None
    assert bytes(data) == b"text"


def test_a_writer_that_fails_leaves_nothing(store: Store) -> None:
    def parts() -> Iterator[bytes]:
        yield b"half"
        raise OSError("no space left")

    with pytest.raises(StoreError, match="cannot write a/b: no space left"):
        store.create("a/b", parts())

    assert store.read("a/b") is None
    assert store.list("a") == []


@pytest.mark.parametrize("path", ["../a", "/a", "a//b", ".hidden", "a/"])
def test_paths_stay_inside_the_store(store: Store, path: str) -> None:
    with pytest.raises(ValueError, match="expected names"):
        store.read(path)


def _create(location: Location, text: bytes, results: multiprocessing.Queue[bool]) -> None:
    store = open_store(location, ENVIRONMENT)
    for number in range(20):
        results.put(store.create(f"n/{number}", [text]))


def test_of_many_processes_exactly_one_creates_an_entry(location: Location) -> None:
    context = multiprocessing.get_context("spawn")
    results: multiprocessing.Queue[bool] = context.Queue()
    writers = [
        context.Process(target=_create, args=(location, text, results))
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
