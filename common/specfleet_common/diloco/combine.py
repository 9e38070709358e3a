"""How the deltas of a round become one. Every worker counts alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from specfleet_common.codecs.deltas import Delta
from specfleet_common.lineage import Shapes
from specfleet_common.tensors import Array


@dataclass(frozen=True, slots=True)
class _Mean:
    """Computes each block when it is asked for: only one of every delta is in memory at a time."""

    deltas: Sequence[Delta]

    @property
    def shapes(self) -> Shapes:
        return self.deltas[0].shapes

    def blocks(self, name: str) -> Iterator[Array]:
        """Return the mean of a tensor's blocks, summed in float64."""
        sources = [delta.blocks(name) for delta in self.deltas]
        for first, *others in zip(*sources, strict=True):
            total = first.astype(np.float64)
            for other in others:
                total += other
            yield np.divide(total, len(sources), out=total).astype(np.float32)


def mean(deltas: Sequence[Delta]) -> Delta:
    """Return the mean, computed block by block as they are asked for."""
    if not deltas:
        raise ValueError("there are no deltas, expected at least one")
    return _Mean(deltas)
