"""Integers byte by byte, the lowest of each first: the high bytes are much alike."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.integer[Any]]
Integer = TypeVar("Integer", bound=np.integer[Any])


def split(values: Integers) -> list[bytes]:
    """Return one section for each byte of little-endian integers [count]."""
    columns = values.view(np.uint8).reshape(-1, values.dtype.itemsize).T
    return [column.tobytes() for column in columns]


def join(raw: bytes | memoryview, dtype: np.dtype[Integer], count: int) -> NDArray[Integer]:
    """Return the integers [count] of little-endian `dtype` from their sections."""
    rows = np.frombuffer(raw, np.uint8).reshape(dtype.itemsize, count)
    return np.ascontiguousarray(rows.T).view(dtype).reshape(-1)
