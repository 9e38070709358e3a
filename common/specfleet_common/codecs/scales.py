"""Groups of values that share a scale, which travels as bfloat16."""

from __future__ import annotations

import numpy as np

from specfleet_common.codecs import bfloat16
from specfleet_common.tensors import Array, TensorError, from_bfloat16, to_bfloat16

SCALE_BYTES = 2


def num_groups(count: int, group: int) -> int:
    """Return into how many groups so many values fall; the last one may be shorter."""
    return -(-count // group)


def grouped(values: Array, group: int) -> Array:
    """Return values [count] as [groups, group]; zeros fill the last one."""
    missing = -values.size % group
    padded = np.concatenate([values, np.zeros(missing, np.float32)]) if missing else values
    return padded.reshape(-1, group)


def rounded(scales: Array) -> Array:
    """Return the scales as the other side will see them."""
    return from_bfloat16(to_bfloat16(scales))


def decode(raw: bytes | memoryview, count: int) -> Array:
    """Return scales [count] from the bytes of `bfloat16.encode`; TensorError where one is none."""
    scales = bfloat16.decode(raw, count)
    if not np.isfinite(scales).all():
        raise TensorError("a scale is not finite")
    if np.signbit(scales).any():
        raise TensorError("a scale is negative")
    return scales
