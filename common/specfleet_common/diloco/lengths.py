"""Which deltas of a round are far longer than the others: their workers are not learned from.

The threshold on norms is that of Sun et al. 2019 (arXiv 1911.07963), taken from the round itself
because what is usual changes with learning rate, steps and codec. They scale such updates down;
here they are left out. Of three workers, one that is scaled down and trimmed leaves the median of
all, which it still pulls its way on every weight: docs/experiments-offline.md has what that costs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import median

from specfleet_common.codecs.deltas import Delta
from specfleet_common.tensors import norm

MAX_MEDIANS = 2.0
"""How many times the round's median norm a delta may have. Workers of a round make the same number
of steps of the same size, so that the norms of honest ones hardly differ."""
_MAJORITY_OF = 3
_THREADS = 2


@dataclass(frozen=True, slots=True)
class TooLong:
    """A worker whose delta is longer than `limit`."""

    worker_id: str
    norm: float
    limit: float


def too_long(deltas: Mapping[str, Delta]) -> tuple[TooLong, ...]:
    """Return those that are, always less than half of them; of two, nobody knows which is."""
    if len(deltas) < _MAJORITY_OF:
        return ()
    with ThreadPoolExecutor(_THREADS) as pool:
        norms = dict(zip(deltas, pool.map(length, deltas.values()), strict=True))
    limit = MAX_MEDIANS * median(norms.values())
    return tuple(TooLong(name, size, limit) for name, size in norms.items() if size > limit)


def length(delta: Delta) -> float:
    """Return a delta's Euclidean norm; one block of it is in memory at a time."""
    return math.sqrt(
        sum(norm({name: block}) ** 2 for name in delta.shapes for block in delta.blocks(name))
    )
