"""Named arrays in memory, block by block: their values, and their bits as bfloat16."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
TensorMap = Mapping[str, Array]

BLOCK = 1 << 16
"""Values that are worked on together: with what is made of them, they stay in a core's cache."""


def is_finite(tensors: TensorMap) -> bool:
    """Return whether no value is NaN or infinite."""
    return all(
        bool(np.isfinite(block).all()) for array in tensors.values() for block in blocks(array)
    )


def norm(tensors: TensorMap) -> float:
    """Return the Euclidean norm over all values, summed in float64."""
    total = 0.0
    # What is no number, and may be no quiet one, stays none.
    with np.errstate(invalid="ignore"):
        for array in tensors.values():
            for block in blocks(array):
                total += float(np.square(block, dtype=np.float64).sum())
    return math.sqrt(total)


def blocks(array: Array) -> Iterator[Array]:
    """Return flat views of at most BLOCK values, so that temporaries stay small."""
    flat = array.reshape(-1)
    return (flat[start : start + BLOCK] for start in range(0, flat.size, BLOCK))


def to_bfloat16(block: Array) -> NDArray[np.uint16]:
    """Return the bits of the nearest bfloat16 of each value; ties go to even."""
    bits = block.view(np.uint32)
    high = bits >> np.uint32(16)
    rounded = (bits + (np.uint32(0x7FFF) + (high & np.uint32(1)))) >> np.uint32(16)
    is_nan = np.isnan(block)
    if is_nan.any():
        rounded[is_nan] = high[is_nan] | np.uint32(0x40)
    return rounded.astype(np.uint16)


def from_bfloat16(bits: NDArray[np.uint16]) -> Array:
    """Return the values that bfloat16 bits stand for."""
    wide = bits.astype(np.uint32)
    wide <<= np.uint32(16)
    return wide.view(np.float32)
