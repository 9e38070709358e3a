"""Values rounded to bfloat16."""

from __future__ import annotations

import numpy as np

from specfleet_common.codecs import planes
from specfleet_common.tensors import Array, from_bfloat16, to_bfloat16


def raw_bytes(count: int) -> int:
    """Return how many bytes `encode` makes of so many values."""
    return 2 * count


def encode(values: Array) -> list[bytes]:
    """Return values [count] as their low bytes and their high bytes, which are much alike."""
    return planes.split(to_bfloat16(values).astype("<u2", copy=False))


def decode(raw: bytes | memoryview, count: int) -> Array:
    """Return values [count] from the bytes of `encode`."""
    return from_bfloat16(planes.join(raw, np.dtype(np.uint16), count))
