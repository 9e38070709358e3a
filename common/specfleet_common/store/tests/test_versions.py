"""Versions in a store: published once, found whole, never half-read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from specfleet_common.diloco.outer import OuterState
from specfleet_common.lineage import Lineage, shapes_digest
from specfleet_common.store import versions
from specfleet_common.store.base import Store
from specfleet_common.store.manifest import (
    FORMAT,
    Manifest,
    ManifestError,
    decode_manifest,
    encode_manifest,
)
from specfleet_common.store.versions import DamagedVersion
from specfleet_common.tensors import Array, decode

SHAPES = {"a": (3, 2), "b": (4,)}
LINEAGE = Lineage("f" * 64, "mtp", "mimo", "bfloat16", shapes_digest(SHAPES))


def weights(value: float) -> dict[str, Array]:
    return {name: np.full(shape, value, np.float32) for name, shape in SHAPES.items()}


def publish(store: Store, number: int, value: float) -> Manifest | None:
    """Publish a version whose weights all are `value`; None when its number is taken."""
    state = OuterState(weights(value), weights(-value))
    manifest = Manifest(
        format=FORMAT,
        lineage=LINEAGE,
        number=number,
        parent=number - 1 if number else None,
        created_at=0.0,
        drafter=versions.write_drafter(
            store, LINEAGE.id, number, state.parameters, dtype="bfloat16"
        ),
        outer=versions.write_outer(store, LINEAGE.id, number, state) if number else None,
        parameter_norm=1.0,
        workers=(),
        positions=0,
        reason="test",
    )
    return manifest if versions.publish(store, manifest) else None


def _stored(store: Store) -> Manifest:
    manifest = versions.read_manifest(store, LINEAGE.id, 0)
    assert manifest is not None
    return manifest


def files(root: Path, number: int, kind: str) -> Path:
    (path,) = (root / LINEAGE.id / "versions" / str(number)).glob(f"{kind}*")
    return path


def test_the_newest_version_is_found_and_read(store: Store) -> None:
    for number in (0, 1, 2):
        publish(store, number, float(number + 1))

    found = versions.find(store, LINEAGE.id)

    assert found.newest is not None
    assert (found.newest.number, found.taken, found.damage) == (2, 2, ())
    data = versions.read_content(store, found.newest, found.newest.drafter)
    np.testing.assert_array_equal(decode(data)["a"], weights(3.0)["a"])
    outer = versions.read_outer(store, found.newest)
    np.testing.assert_array_equal(outer.parameters["b"], weights(3.0)["b"])
    np.testing.assert_array_equal(outer.velocity["b"], weights(-3.0)["b"])


def test_version_10_is_newer_than_version_9(store: Store) -> None:
    for number in range(11):
        publish(store, number, 1.0)

    assert versions.find(store, LINEAGE.id).taken == 10


def test_stock_starts_without_velocity(store: Store) -> None:
    manifest = publish(store, 0, 1.0)
    assert manifest is not None

    outer = versions.read_outer(store, manifest)

    np.testing.assert_array_equal(outer.parameters["a"], weights(1.0)["a"])
    np.testing.assert_array_equal(outer.velocity["a"], weights(0.0)["a"])


def test_a_number_is_published_once(store: Store) -> None:
    first, second = publish(store, 0, 1.0), publish(store, 0, 2.0)

    assert second is None
    assert versions.find(store, LINEAGE.id).newest == first


def test_a_version_without_its_manifest_does_not_exist_and_its_number_is_free(
    store: Store,
) -> None:
    publish(store, 0, 1.0)
    versions.write_drafter(store, LINEAGE.id, 1, weights(9.0), dtype="bfloat16")

    before = versions.find(store, LINEAGE.id)
    published = publish(store, 1, 2.0)

    assert before.taken == 0
    assert published is not None
    assert versions.find(store, LINEAGE.id).newest == published


@pytest.mark.parametrize("kind", ["drafter", "outer", "manifest"])
@pytest.mark.parametrize("damage", ["truncated", "corrupt", "missing"])
def test_a_damaged_version_gives_way_to_the_one_before_and_keeps_its_number(
    store: Store, root: Path, kind: str, damage: str
) -> None:
    publish(store, 0, 1.0)
    publish(store, 1, 2.0)
    publish(store, 2, 3.0)
    path = files(root, 2, kind)
    data = bytearray(path.read_bytes())
    if damage == "truncated":
        path.write_bytes(data[:-1])
    elif damage == "missing":
        path.unlink()
    else:
        data[-2] ^= 0xFF
        path.write_bytes(data)

    found = versions.find(store, LINEAGE.id)

    assert found.newest is not None
    assert found.newest.number == 1
    if (kind, damage) == ("manifest", "missing"):
        assert (found.taken, found.damage) == (1, ())
    else:
        assert found.taken == 2
        assert len(found.damage) == 1
        assert found.damage[0].startswith(f"version 2 of lineage {LINEAGE.id}: ")


def test_reading_a_damaged_file_is_an_error(store: Store, root: Path) -> None:
    manifest = publish(store, 1, 2.0)
    assert manifest is not None
    path = files(root, 1, "outer")
    path.write_bytes(path.read_bytes()[:-4] + bytes(4))

    with pytest.raises(DamagedVersion, match="expected"):
        versions.read_outer(store, manifest)


def test_a_manifest_under_another_number_is_damage(store: Store, root: Path) -> None:
    publish(store, 0, 1.0)
    (root / LINEAGE.id / "versions" / "0").rename(root / LINEAGE.id / "versions" / "7")

    found = versions.find(store, LINEAGE.id)

    assert (found.newest, found.taken) == (None, 7)
    assert "says version 0" in found.damage[0]


def test_lineages_are_found_with_what_they_are(store: Store) -> None:
    publish(store, 0, 1.0)
    store.create("other/file", [b""])

    assert versions.lineages(store) == [LINEAGE.id]
    assert versions.find_lineage(store, LINEAGE.id) == LINEAGE


def test_published_numbers_are_those_with_a_manifest_even_a_damaged_one(
    store: Store, root: Path
) -> None:
    publish(store, 0, 1.0)
    publish(store, 1, 2.0)
    versions.write_drafter(store, LINEAGE.id, 2, weights(9.0), dtype="bfloat16")
    files(root, 1, "manifest").write_bytes(b"{")

    assert versions.published(store, LINEAGE.id) == [0, 1]


def test_bytes_that_are_no_manifest_are_refused() -> None:
    with pytest.raises(ManifestError, match="not a manifest"):
        decode_manifest(b"{}")


@pytest.mark.parametrize("file", ["../x", "", ".hidden", "a/b", "/etc/passwd", "x" * 300])
def test_a_manifest_cannot_lead_out_of_its_version(store: Store, file: str) -> None:
    publish(store, 0, 1.0)
    manifest = json.loads(encode_manifest(_stored(store)))
    manifest["drafter"]["file"] = file

    with pytest.raises(ManifestError, match=r"drafter\.file: is "):
        decode_manifest(json.dumps(manifest).encode())
