"""A drafter of 120 million random numbers, its lineage, and deltas to it."""

from __future__ import annotations

import numpy as np

from e2e.bench.shapes import FULL
from specfleet_common.lineage import Lineage, shapes_digest
from specfleet_common.tensors import Array

DTYPE = "bfloat16"
SHAPES = {
    f"model.mtp_layers.0.{name}.weight": (outer, inner)
    for name, (inner, outer) in FULL.matrices.items()
}
LINEAGE = Lineage("0" * 64, "mtp", "mimo", DTYPE, shapes_digest(SHAPES))
WEIGHT_DEVIATION = 0.02
DELTA_DEVIATION = 1e-4
"""About what a hundred steps of AdamW at a learning rate of 1e-5 leave."""


def random_tensors(seed: int, *, deviation: float) -> dict[str, Array]:
    """Return normally distributed tensors of the drafter's names and shapes."""
    random = np.random.default_rng(seed)
    return {
        name: random.standard_normal(shape, np.float32) * np.float32(deviation)
        for name, shape in SHAPES.items()
    }
