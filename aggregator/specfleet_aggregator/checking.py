"""Whether uploaded weights are what they should be. Only looks; counts and stores nothing."""

from __future__ import annotations

import math

import numpy as np

from specfleet_common.codecs import deltas
from specfleet_common.codecs.codec import Codec
from specfleet_common.lineage import Lineage, Shapes, shapes_digest, short
from specfleet_common.tensors import (
    TensorError,
    content_digest,
    decode,
    dtype_of,
    is_finite,
    norm,
    shapes_of,
)

MAX_NORM_RATIO = 100.0
_HEADER_BYTES = 4 << 20


def largest_delta_bytes(shapes: Shapes) -> int:
    """Return how large a delta with these shapes can be: Float32 is the largest of all codecs."""
    return 4 * sum(math.prod(shape) for shape in shapes.values()) + _HEADER_BYTES


def delta_fault(
    data: memoryview, codec: Codec, *, digest: str, shapes: Shapes, parameter_norm: float
) -> str | None:
    """Say what is wrong with a delta, or None when nothing is; one block is decoded at a time."""
    try:
        delta = deltas.open_delta(data, codec, shapes=shapes)
        actual = deltas.digest(data, codec)
        if actual != digest:
            return f"digest is {short(actual)}, expected {short(digest)}"
        square = 0.0
        for name in shapes:
            for block in delta.blocks(name):
                if not np.isfinite(block).all():
                    return f"{name}: some values are not finite"
                square += norm({name: block}) ** 2
    except TensorError as error:
        return str(error)
    size, limit = math.sqrt(square), MAX_NORM_RATIO * parameter_norm
    if size > limit:
        return (
            f"norm is {size:.4g}, expected at most {limit:.4g} "
            f"({MAX_NORM_RATIO:g} times that of the parameters)"
        )
    return None


def stock_fault(data: memoryview, *, digest: str, lineage: Lineage) -> str | None:
    """Say what is wrong with a stock drafter, or None when nothing is."""
    try:
        actual, dtype, shapes = content_digest(data), dtype_of(data), shapes_of(data)
        tensors = decode(data)
    except TensorError as error:
        return str(error)
    if actual != digest:
        return f"digest is {short(actual)}, expected {short(digest)}"
    if dtype != lineage.dtype:
        return f"dtype is {dtype}, expected {lineage.dtype}"
    if shapes_digest(shapes) != lineage.shapes_digest:
        return (
            f"digest of the shapes is {short(shapes_digest(shapes))}, "
            f"expected {short(lineage.shapes_digest)}"
        )
    if not is_finite(tensors):
        return "some values are not finite"
    return None
