"""What hypothesis draws for the tests of codecs: tensors, and tampered bytes."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from specfleet_common.tensors import Array

finite = hnp.arrays(
    np.float32,
    hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=40),
    elements=st.floats(
        width=32, allow_nan=False, allow_infinity=False, max_value=2.0**120, min_value=-(2.0**120)
    ),
)
names = st.text(min_size=1, max_size=8)
tensor_maps = st.dictionaries(names, finite, min_size=1, max_size=3)


def shapes_of(tensors: dict[str, Array]) -> dict[str, tuple[int, ...]]:
    return {name: array.shape for name, array in tensors.items()}


def normal(seed: int, *shape: int, scale: float = 1.0) -> Array:
    drawn = np.random.default_rng(seed).standard_normal(shape, np.float32)
    return (drawn * np.float32(scale)).astype(np.float32)


@st.composite
def tampered(draw: st.DrawFn, data: bytes) -> bytes:
    """Return the bytes with some replaced, left out or added; never as they were."""
    begin = draw(st.integers(0, len(data)))
    end = draw(st.integers(begin, min(len(data), begin + 16)))
    result = data[:begin] + draw(st.binary(max_size=16)) + data[end:]
    return result if result != data else data[:-1]
