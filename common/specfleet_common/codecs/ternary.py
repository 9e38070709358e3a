"""Values as minus, zero or plus a magnitude that 64 of them share: the largest of the group.

Those of at most half the magnitude become zero. No error is larger than its value, so that
error feedback (arXiv 1901.09847) loses nothing over several deltas. Four values to a byte.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from specfleet_common.codecs import bfloat16
from specfleet_common.codecs import scales as shared
from specfleet_common.tensors import Array, TensorError

GROUP = 64
_DEAD_ZONE = np.float32(0.5)
_PER_BYTE = 4
_PLUS, _MINUS, _UNUSED = 1, 2, 3


def _signs() -> Array:
    """Return the four signs that each byte stands for, [256, 4]."""
    codes = np.arange(256)[:, None] >> (2 * np.arange(_PER_BYTE)) & 3
    signs: Array = np.array([0, 1, -1, 0], np.float32)[codes]
    return signs


_SIGNS = _signs()


def raw_bytes(count: int) -> int:
    """Return how many bytes `encode` makes of so many values."""
    num_groups = shared.num_groups(count, GROUP)
    return num_groups * (GROUP // _PER_BYTE + shared.SCALE_BYTES)


def encode(values: Array) -> list[bytes]:
    """Return the codes and magnitudes of values [count]; NaN or infinity makes such a magnitude."""
    groups = shared.grouped(values, GROUP)
    magnitudes = shared.rounded(np.abs(groups).max(axis=1))
    threshold = (_DEAD_ZONE * magnitudes)[:, None]
    codes = (groups > threshold) * np.uint8(_PLUS)
    codes |= (groups < -threshold) * np.uint8(_MINUS)
    fours = codes.reshape(-1, _PER_BYTE)
    packed = fours[:, 0] | fours[:, 1] << 2 | fours[:, 2] << 4 | fours[:, 3] << 6
    return [packed.tobytes(), *bfloat16.encode(magnitudes)]


def decode(raw: bytes, count: int) -> Array:
    """Return values [count] from the bytes of `encode`."""
    num_groups = shared.num_groups(count, GROUP)
    length = num_groups * GROUP // _PER_BYTE
    packed = np.frombuffer(raw, np.uint8, length)
    _check_codes(packed, count)
    magnitudes = shared.decode(memoryview(raw)[length:], num_groups)
    signs = np.take(_SIGNS, packed, axis=0).reshape(-1, GROUP)
    return np.multiply(signs, magnitudes[:, None], out=signs).reshape(-1)[:count]


def _check_codes(packed: NDArray[np.uint8], count: int) -> None:
    if (packed & packed >> 1 & 0b01010101).any():
        raise TensorError(f"a value has the code {_UNUSED}, expected 0, {_PLUS} or {_MINUS}")
    if _SIGNS[packed[count // _PER_BYTE :]].reshape(-1)[count % _PER_BYTE :].any():
        raise TensorError("the filling of the last group is not zero")
