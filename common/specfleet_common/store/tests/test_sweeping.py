"""What an aggregator that died has left in a store directory goes, and nothing else does."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from specfleet_common.diloco.outer import initial_state
from specfleet_common.lineage import Lineage, shapes_digest
from specfleet_common.store import versions
from specfleet_common.store.directory import DirectoryStore
from specfleet_common.store.manifest import FORMAT, Content, Manifest
from specfleet_common.store.sweeping import sweep
from specfleet_common.tensors import Array

SHAPES = {"a": (2, 3)}
LINEAGE = Lineage("0" * 64, "mtp", "mimo", "float32", shapes_digest(SHAPES))
HOUR = 3600.0


def write(store: DirectoryStore, number: int, value: float) -> tuple[Content, Content]:
    """Write the files of a version, as an aggregator does before the manifest."""
    weights: dict[str, Array] = {
        name: np.full(shape, value, np.float32) for name, shape in SHAPES.items()
    }
    drafter = versions.write_drafter(store, LINEAGE.id, number, weights, dtype="float32")
    return drafter, versions.write_outer(store, LINEAGE.id, number, initial_state(weights))


def publish(store: DirectoryStore, number: int, drafter: Content, outer: Content) -> None:
    manifest = Manifest(
        FORMAT, LINEAGE, number, None, 0.0, drafter, outer, 1.0, (), 0, reason="a test"
    )
    assert versions.publish(store, manifest)


def files(root: Path) -> set[Path]:
    return {path for path in root.rglob("*") if path.is_file()}


def test_files_of_a_version_that_was_published_with_others_are_removed(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    publish(store, 1, *write(store, 1, 1.0))
    published = files(tmp_path)
    write(store, 1, 2.0)

    removed = sweep(tmp_path, now=0.0)

    assert removed == 2
    assert files(tmp_path) == published


def test_files_of_a_version_that_is_about_to_be_published_stay(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    publish(store, 1, *write(store, 1, 1.0))
    write(store, 2, 1.0)
    write(store, 2, 2.0)
    before = files(tmp_path)

    assert sweep(tmp_path, now=0.0) == 0
    assert files(tmp_path) == before


def test_files_beside_a_damaged_manifest_stay(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    publish(store, 1, *write(store, 1, 1.0))
    write(store, 1, 2.0)
    (tmp_path / LINEAGE.id / "versions/1/manifest.json").write_bytes(b"{")
    before = files(tmp_path)

    assert sweep(tmp_path, now=0.0) == 0
    assert files(tmp_path) == before


def test_half_written_files_go_when_they_are_old(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    publish(store, 1, *write(store, 1, 1.0))
    half = tmp_path / LINEAGE.id / "versions/1" / f".manifest.json.{'0' * 16}"
    half.touch()

    removed = sweep(tmp_path, now=half.stat().st_mtime + HOUR + 1)

    assert removed == 1
    assert not half.exists()


def test_a_store_that_is_not_there_yet_has_nothing_to_remove(tmp_path: Path) -> None:
    assert sweep(tmp_path / "nothing", now=0.0) == 0
