"""Deltas for tests: one tensor of a few values, or one that is longer than a block."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from specfleet_common.codecs.deltas import Delta, Dense
from specfleet_common.tensors import Array

VALUES = st.floats(-1e3, 1e3, width=32)


def rows(*, smallest: int = 1, largest: int = 9) -> st.SearchStrategy[Array]:
    """Return [workers, weights] arrays."""
    shapes = st.tuples(st.integers(smallest, largest), st.integers(1, 5))
    return arrays.arrays(np.float32, shapes, elements=VALUES)


def deltas(rows: Iterable[Array]) -> list[Delta]:
    return [Dense({"a": row}) for row in rows]


def values(delta: Delta) -> Array:
    return np.concatenate(list(delta.blocks("a")))


def named(rows: Sequence[Array]) -> dict[str, Delta]:
    """Return the deltas of workers a, b, c, …"""
    return dict(zip("abcdefghijklmnopqrstuvwxyz", deltas(rows), strict=False))
