"""Arrays become bytes: float32 or bfloat16, with the names sorted."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from specfleet_common.tensors.arrays import BLOCK, Array, TensorMap, to_bfloat16
from specfleet_common.tensors.checking import TensorError
from specfleet_common.tensors.layout import CODES, ITEM_BYTES, encode_header


def encode(tensors: TensorMap, dtype: str = "float32") -> bytes:
    """Return safetensors bytes with the names sorted; bfloat16 rounds to nearest even."""
    return b"".join(encode_parts(tensors, dtype))


def encode_parts(tensors: TensorMap, dtype: str = "float32") -> Iterator[bytes | memoryview]:
    """Return what `encode` returns in parts, one tensor in memory at a time."""
    code = code_of(tensors, dtype)
    yield encode_header({name: array.shape for name, array in tensors.items()}, dtype)
    for name in sorted(tensors):
        yield bytes_of(tensors[name], code)


def encoded_size_bytes(tensors: TensorMap, dtype: str = "float32") -> int:
    """Return the length of what `encode` returns, without building it."""
    item_bytes = ITEM_BYTES[code_of(tensors, dtype)]
    header = next(encode_parts(tensors, dtype))
    return len(header) + item_bytes * sum(array.size for array in tensors.values())


def code_of(tensors: TensorMap, dtype: str) -> str:
    """Return how safetensors names a dtype; TensorError unless these tensors can be encoded."""
    if dtype not in CODES:
        raise TensorError(f"dtype is {dtype!r}, expected one of {sorted(CODES)}")
    if not tensors:
        raise TensorError("there are no tensors, expected at least one")
    for name, array in tensors.items():
        if array.dtype != np.float32:
            raise TensorError(f"{name}: dtype in memory is {array.dtype}, expected float32")
    return CODES[dtype]


def bytes_of(array: Array, code: str) -> memoryview:
    """Return the bytes of one array."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if code == "F32":
        return flat.astype("<f4", copy=False).view(np.uint8).data
    result = np.empty(flat.size, "<u2")
    for start in range(0, flat.size, BLOCK):
        result[start : start + BLOCK] = to_bfloat16(flat[start : start + BLOCK])
    return result.view(np.uint8).data
