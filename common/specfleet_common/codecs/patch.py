"""The lossless difference between two versions in serving dtype.

Most values of a drafter move by no or one unit in the last place from one version to the next. So
the bits become integers in the order of the values, each is subtracted from its successor, small
differences become small numbers whatever their sign (zigzag), and most of their bytes are zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np

from specfleet_common.codecs import container, frames, planes
from specfleet_common.codecs.planes import Integers
from specfleet_common.lineage import Shapes
from specfleet_common.tensors import (
    BLOCK,
    Entry,
    TensorError,
    encode_header,
    entries_of,
    entries_of_open_file,
)

# What is subtracted wraps around.
_UNSIGNED: Mapping[str, np.dtype[np.integer[Any]]] = {
    "float32": np.dtype("<u4"),
    "bfloat16": np.dtype("<u2"),
}


def encode_parts(base: memoryview, version: memoryview) -> Iterator[bytes]:
    """Return the patch that makes a version from its base, both of them safetensors."""
    old, new = _by_name(entries_of(base)), _by_name(entries_of(version))
    dtype, shapes = _layout(entries_of(version))
    if _layout(entries_of(base)) != (dtype, shapes):
        raise TensorError("the versions have different tensors, expected the same names and shapes")
    integers = _UNSIGNED[dtype]

    def frames_of(name: str) -> Iterator[bytes]:
        before = np.frombuffer(base[old[name].begin : old[name].end], integers)
        after = np.frombuffer(version[new[name].begin : new[name].end], integers)
        for start in range(0, before.size, BLOCK):
            block = slice(start, start + BLOCK)
            yield frames.compress(_difference(before[block], after[block]))

    return container.encode_parts(_coding(dtype), shapes, frames_of)


def apply(base: BinaryIO, patch: BinaryIO, target: BinaryIO) -> None:
    """Write the version that a patch makes from its base; one block at a time is in memory.

    TensorError for what is no patch of such tensors. Whether it was made for this base, only the
    digest of the result tells.
    """
    entries = entries_of_open_file(base)
    dtype, shapes = _layout(entries)
    integers = _UNSIGNED[dtype]
    found = container.open_file(patch, coding=_coding(dtype), shapes=shapes)
    target.write(encode_header(shapes, dtype))
    for entry in entries:
        position = entry.begin
        for frame, count in found.blocks(entry.name):
            size_bytes = count * integers.itemsize
            base.seek(position)
            before = np.frombuffer(base.read(size_bytes), integers)
            raw = frames.decompress(frame, size_bytes=size_bytes)
            target.write(_successor(before, raw).tobytes())
            position += size_bytes


def _difference(before: Integers, after: Integers) -> list[bytes]:
    step = _ordered(after) - _ordered(before)
    zigzag: Integers = step << 1 ^ -(step >> _top(step))
    return planes.split(zigzag)


def _successor(before: Integers, raw: bytes) -> Integers:
    zigzag = planes.join(raw, before.dtype, before.size)
    step: Integers = zigzag >> 1 ^ -(zigzag & 1)
    return _bits(_ordered(before) + step)


def _ordered(bits: Integers) -> Integers:
    """Return integers that are in the order of the floating-point values with these bits."""
    flipped: Integers = -(bits >> _top(bits)) | bits.dtype.type(1 << _top(bits))
    return bits ^ flipped


def _bits(ordered: Integers) -> Integers:
    """Undo `_ordered`."""
    sign, one = ordered >> _top(ordered), ordered.dtype.type(1)
    flipped: Integers = sign - one | one << _top(ordered)
    return ordered ^ flipped


def _top(integers: Integers) -> int:
    """Return the position of the highest bit."""
    return 8 * integers.dtype.itemsize - 1


def _coding(dtype: str) -> str:
    return f"patch-{dtype}"


def _layout(entries: list[Entry]) -> tuple[str, Shapes]:
    dtypes = {entry.dtype for entry in entries}
    if len(dtypes) != 1:
        raise TensorError(f"dtypes are {sorted(dtypes)}, expected one dtype for all tensors")
    return dtypes.pop(), {entry.name: entry.shape for entry in entries}


def _by_name(entries: list[Entry]) -> dict[str, Entry]:
    return {entry.name: entry for entry in entries}
