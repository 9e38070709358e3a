"""A store is one fleet's."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from specfleet_common.store.base import Store, StoreError
from specfleet_common.store.owner import ForeignStore, OverwritingStore, check, claim


class ForgetfulStore:
    """A store whose server ignores that an entry exists, as some S3 servers do."""

    def __init__(self, **entries: bytes) -> None:
        self.entries = {name.replace("_", "."): data for name, data in entries.items()}

    def read(self, path: str) -> memoryview | None:
        data = self.entries.get(path)
        return None if data is None else memoryview(data)

    def create(self, path: str, parts: Iterable[bytes | memoryview]) -> bool:
        self.entries[path] = b"".join(parts)
        return True

    def list(self, path: str) -> list[str]:
        raise NotImplementedError


def test_a_claimed_store_is_its_fleets_and_no_others(store: Store) -> None:
    claim(store, "blue")

    claim(store, "blue")
    check(store, "blue")
    data = store.read("owner.json")
    assert data is not None
    assert bytes(data) == b'{"fleet":"blue"}'
    for refuse in (claim, check):
        with pytest.raises(ForeignStore, match="belongs to fleet blue, this is fleet green"):
            refuse(store, "green")


def test_checking_writes_nothing(store: Store) -> None:
    check(store, "blue")

    assert store.list("") == []


def test_an_owner_that_cannot_be_read_is_a_failure_of_the_store(store: Store) -> None:
    store.create("owner.json", [b"{"])

    with pytest.raises(StoreError, match=r"owner\.json"):
        claim(store, "blue")


def test_a_store_that_overwrites_is_refused() -> None:
    with pytest.raises(OverwritingStore, match=r"wrote owner\.json twice"):
        claim(ForgetfulStore(), "blue")


def test_finding_out_that_a_store_overwrites_does_not_harm_its_owner() -> None:
    store = ForgetfulStore(owner_json=b'{"fleet":"blue"}')

    with pytest.raises(ForeignStore):
        claim(store, "green")

    assert store.entries == {"owner.json": b'{"fleet":"blue"}'}
