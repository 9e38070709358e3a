"""Whether uploaded weights are what they should be. Only looks; counts and stores nothing."""

from __future__ import annotations

import math

from specfleet_common.lineage import Lineage, Shapes, shapes_digest, short
from specfleet_common.tensors import (
    TensorError,
    content_digest,
    decode,
    dtype_of,
    is_finite,
    norm,
    shapes_of,
    view,
)

MAX_NORM_RATIO = 100.0
_HEADER_BYTES = 4 << 20


def largest_delta_bytes(shapes: Shapes) -> int:
    """Return how large a float32 file with these shapes can be."""
    return 4 * sum(math.prod(shape) for shape in shapes.values()) + _HEADER_BYTES


def delta_fault(
    data: memoryview, *, digest: str, shapes: Shapes, parameter_norm: float
) -> str | None:
    """Say what is wrong with a delta, or None when nothing is."""
    try:
        tensors = view(data, shapes=shapes)
        actual = content_digest(data)
    except TensorError as error:
        return str(error)
    if actual != digest:
        return f"digest is {short(actual)}, expected {short(digest)}"
    for name, array in tensors.items():
        if not is_finite({name: array}):
            return f"{name}: some values are not finite"
    size, limit = norm(tensors), MAX_NORM_RATIO * parameter_norm
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
