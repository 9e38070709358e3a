"""What nothing in a store refers to is found, and all else is not taken for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from e2e.soak.garbage import stock_of
from specfleet_common.judge.records import Records
from specfleet_common.judge.tests.building import OPENED
from specfleet_common.lineage import Lineage, shapes_digest
from specfleet_common.store import evidence, versions
from specfleet_common.store.directory import DirectoryStore
from specfleet_common.store.ledger import Ledger
from specfleet_common.store.manifest import FORMAT, Content, Manifest

SHAPES = {"a": (2, 3)}
LINEAGE = Lineage("0" * 64, "mtp", "mimo", "float32", shapes_digest(SHAPES))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Give a store with a version, a decision, and the records of a promotion."""
    store = DirectoryStore(tmp_path)
    store.create("owner.json", [b"{}"])
    publish(store, 0)
    Ledger(store, LINEAGE.id).append_at(0, OPENED)
    evidence.put(store, LINEAGE.id, OPENED.promotion, Records(), at=1.0)
    evidence.put(store, LINEAGE.id, evidence.after(OPENED.promotion), Records(), at=1.0)
    (tmp_path / ".run.lock").touch()
    return tmp_path


def publish(store: DirectoryStore, number: int) -> None:
    drafter = write(store, number, 0.0)
    manifest = Manifest(
        FORMAT, LINEAGE, number, None, 0.0, drafter, None, 1.0, (), 0, reason="stock"
    )
    assert versions.publish(store, manifest)


def write(store: DirectoryStore, number: int, value: float) -> Content:
    tensors = {name: np.full(shape, value, np.float32) for name, shape in SHAPES.items()}
    return versions.write_drafter(store, LINEAGE.id, number, tensors, dtype="float32")


def test_a_store_that_nobody_died_in_has_no_garbage(root: Path) -> None:
    stock = stock_of(root)

    assert stock.garbage == ()
    assert stock.entries == 7
    assert stock.bytes > 0


def test_files_of_a_writer_that_died_are_garbage(root: Path) -> None:
    store = DirectoryStore(root)
    late = write(store, 0, 1.0)
    unfinished = write(store, 1, 1.0)
    partial = root / LINEAGE.id / "versions/1" / f".manifest.json.{'0' * 16}"
    partial.touch()

    garbage = stock_of(root).garbage

    versions_ = f"{LINEAGE.id}/versions"
    assert set(garbage) == {
        f"{versions_}/0/{late.file}",
        f"{versions_}/1/{unfinished.file}",
        f"{versions_}/1/{partial.name}",
    }


def test_records_of_a_promotion_that_the_ledger_does_not_know_are_garbage(root: Path) -> None:
    evidence.put(DirectoryStore(root), LINEAGE.id, "7-abcdef", Records(), at=1.0)

    (garbage,) = stock_of(root).garbage

    assert garbage.startswith(f"{LINEAGE.id}/promotions/7-abcdef/evidence/")
