"""A store is one fleet's."""

from __future__ import annotations

from pathlib import Path

import pytest

from specfleet_common.store.base import StoreError
from specfleet_common.store.directory import DirectoryStore
from specfleet_common.store.owner import ForeignStore, check, claim


def test_a_claimed_store_is_its_fleets_and_no_others(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)

    claim(store, "blue")

    claim(store, "blue")
    check(store, "blue")
    assert (tmp_path / "owner.json").read_text() == '{"fleet":"blue"}'
    for refuse in (claim, check):
        with pytest.raises(ForeignStore, match="belongs to fleet blue, this is fleet green"):
            refuse(store, "green")


def test_checking_writes_nothing(tmp_path: Path) -> None:
    check(DirectoryStore(tmp_path / "store"), "blue")

    assert not (tmp_path / "store").exists()


def test_an_owner_that_cannot_be_read_is_a_failure_of_the_store(tmp_path: Path) -> None:
    (tmp_path / "owner.json").write_text("{")

    with pytest.raises(StoreError, match=r"owner\.json"):
        claim(DirectoryStore(tmp_path), "blue")
