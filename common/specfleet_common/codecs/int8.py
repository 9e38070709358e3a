"""Values as whole multiples, -127 to 127, of a scale that 256 of them share."""

from __future__ import annotations

import numpy as np

from specfleet_common.codecs import bfloat16
from specfleet_common.codecs import scales as shared
from specfleet_common.tensors import Array, TensorError

GROUP = 256
_LARGEST = 127


def raw_bytes(count: int) -> int:
    """Return how many bytes `encode` makes of so many values."""
    return count + shared.SCALE_BYTES * shared.num_groups(count, GROUP)


def encode(values: Array) -> list[bytes]:
    """Return the multiples and scales of values [count]; NaN or infinity makes such a scale."""
    groups = shared.grouped(values, GROUP)
    scales = shared.rounded(np.abs(groups).max(axis=1) / np.float32(_LARGEST))
    usable = np.isfinite(scales) & (scales > 0)
    multiples = np.where(usable[:, None], groups, 0) / np.where(usable, scales, 1)[:, None]
    np.clip(np.rint(multiples, out=multiples), -_LARGEST, _LARGEST, out=multiples)
    return [
        multiples.astype(np.int8).reshape(-1)[: values.size].tobytes(),
        *bfloat16.encode(scales),
    ]


def decode(raw: bytes, count: int) -> Array:
    """Return values [count] from the bytes of `encode`."""
    multiples = np.frombuffer(raw, np.int8, count)
    if count and multiples.min() < -_LARGEST:
        raise TensorError(f"a multiple is {multiples.min()}, expected at least {-_LARGEST}")
    scales = shared.decode(memoryview(raw)[count:], shared.num_groups(count, GROUP))
    groups = shared.grouped(multiples.astype(np.float32), GROUP)
    # What a large scale makes infinite is refused like all that is not finite.
    with np.errstate(over="ignore"):
        return (groups * scales[:, None]).reshape(-1)[:count]
