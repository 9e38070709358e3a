"""Looking at a delta: what is wrong with it, and how little of it is in memory meanwhile."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from specfleet_aggregator.checking import delta_fault
from specfleet_common.codecs import deltas
from specfleet_common.codecs.codec import Codec

NUM_VALUES = 1 << 22
SHAPES = {"w": (NUM_VALUES,)}


@pytest.mark.parametrize("codec", list(Codec))
def test_a_large_delta_is_never_decoded_as_a_whole(codec: Codec) -> None:
    drawn = np.random.default_rng(0).standard_normal(NUM_VALUES, np.float32)
    data = deltas.encode({"w": drawn}, codec)
    digest = deltas.digest(data, codec)
    tracemalloc.start()

    fault = delta_fault(memoryview(data), codec, digest=digest, shapes=SHAPES, parameter_norm=1e3)

    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert fault is None
    assert peak_bytes < 2 << 20
