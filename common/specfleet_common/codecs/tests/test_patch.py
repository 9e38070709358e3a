"""Patches: applying undoes making, for any bits; damage never goes unnoticed by the digest."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from specfleet_common.codecs import patch
from specfleet_common.codecs.tests.drawing import normal, tampered
from specfleet_common.tensors import BLOCK, TensorError, content_digest, encode

any_bits = hnp.arrays(np.uint32, (2, 9))
dtypes = pytest.mark.parametrize("dtype", ["float32", "bfloat16"])


def make(base: bytes, version: bytes) -> bytes:
    return b"".join(patch.encode_parts(memoryview(base), memoryview(version)))


def applied(directory: Path, base: bytes, made: bytes) -> bytes:
    path, target = directory / "base", io.BytesIO()
    path.write_bytes(base)
    with path.open("rb") as file:
        patch.apply(file, io.BytesIO(made), target)
    return target.getvalue()


@dtypes
@given(old=any_bits, new=any_bits)
@settings(deadline=None)
def test_applying_a_patch_gives_the_version_whatever_its_bits(
    tmp_path_factory: pytest.TempPathFactory, dtype: str, old: np.ndarray, new: np.ndarray
) -> None:
    base = encode({"a": old.view(np.float32), "b": old[0].view(np.float32)}, dtype)
    version = encode({"a": new.view(np.float32), "b": new[1].view(np.float32)}, dtype)

    result = applied(tmp_path_factory.mktemp("patch"), base, make(base, version))

    assert result == version


@dtypes
def test_a_version_of_several_blocks_is_patched_block_by_block(tmp_path: Path, dtype: str) -> None:
    old, new = normal(1, 2 * BLOCK + 5), normal(2, 2 * BLOCK + 5)
    base, version = encode({"w": old}, dtype), encode({"w": new}, dtype)

    assert applied(tmp_path, base, make(base, version)) == version


def test_a_small_step_makes_a_small_patch() -> None:
    old = normal(1, BLOCK, scale=0.02)
    new = old + normal(2, BLOCK, scale=5e-5)
    base, version = encode({"w": old}, "bfloat16"), encode({"w": new}, "bfloat16")

    assert len(make(base, version)) < 0.22 * len(version)
    assert len(make(base, base)) < 0.001 * len(version)


def test_versions_with_other_tensors_have_no_patch(tmp_path: Path) -> None:
    base = encode({"w": normal(1, 5)})
    others = [
        encode({"w": normal(1, 6)}),
        encode({"v": normal(1, 5)}),
        encode({"w": normal(1, 5)}, "bfloat16"),
    ]

    for other in others:
        with pytest.raises(TensorError, match="different tensors"):
            make(base, other)
        with pytest.raises(TensorError):
            applied(tmp_path, base, make(other, other))


@given(st.data())
@settings(deadline=None, max_examples=200)
def test_a_tampered_patch_is_refused_or_gives_another_digest(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    base = encode({"a": normal(1, 5), "b": normal(2, 2, 70)}, "bfloat16")
    version = encode({"a": normal(3, 5), "b": normal(4, 2, 70)}, "bfloat16")
    made = make(base, version)
    changed = data.draw(tampered(made))

    try:
        result = applied(tmp_path_factory.mktemp("patch"), base, changed)
    except TensorError:
        return
    assert result == version or content_digest(result) != content_digest(version)
