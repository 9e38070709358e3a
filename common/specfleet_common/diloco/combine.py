"""How the deltas of a round become one, weight by weight. Every worker counts alike.

Median and trimmed mean are those of Yin et al. 2018 (arXiv 1803.01498): less than half of the
workers, or as many as are trimmed, cannot move a weight out of the range of the others' values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from specfleet_common.codecs.deltas import Delta
from specfleet_common.diloco.lengths import TooLong, too_long
from specfleet_common.diloco.ordering import select
from specfleet_common.diloco.rule import Rule
from specfleet_common.lineage import Shapes
from specfleet_common.tensors import Array

TRIMMED_PERCENT = 20
"""Of the deltas, at either end. One bad worker of five is shut out, and every weight still rests
on three of five; less would shut out nobody in small fleets, more comes close to the median."""


@dataclass(frozen=True, slots=True)
class Combined:
    """What the outer step gets, and whose deltas have no part in it."""

    delta: Delta
    left_out: tuple[TooLong, ...] = ()


def combine(deltas: Mapping[str, Delta], rule: Rule) -> Combined:
    """Combine the deltas of workers; of one or two, each rule makes the mean.

    The trimmed mean keeps its promise while no honest delta is far longer than the others. Only
    lengths are computed here: the rest comes block by block as it is asked for.
    """
    match rule:
        case Rule.MEAN:
            return Combined(mean([*deltas.values()]))
        case Rule.COORDINATE_MEDIAN:
            return Combined(coordinate_median([*deltas.values()]))
        case Rule.TRIMMED_MEAN:
            left_out = too_long(deltas)
            names = {one.worker_id for one in left_out}
            others = [delta for name, delta in deltas.items() if name not in names]
            return Combined(trimmed_mean(others, left_out=len(left_out)), left_out)


def mean(deltas: Sequence[Delta]) -> Delta:
    """Return the mean, computed block by block as they are asked for."""
    return _Mean(_some(deltas))


def coordinate_median(deltas: Sequence[Delta]) -> Delta:
    """Return the median of every weight; the mean of the two in the middle when there are two."""
    return _Trimmed(_some(deltas), drop=(len(deltas) - 1) // 2)


def trimmed_mean(deltas: Sequence[Delta], *, left_out: int = 0) -> Delta:
    """Return the mean of every weight without its largest and smallest values.

    Who was `left_out` before counts among the bad ones that trimming is there for.
    """
    drop = max(0, num_trimmed(len(deltas) + left_out) - left_out)
    return _Trimmed(_some(deltas), drop=drop)


def num_trimmed(num_deltas: int) -> int:
    """Return how many values are dropped at either end: at least one when a majority remains."""
    if num_deltas < 3:
        return 0
    return max(1, num_deltas * TRIMMED_PERCENT // 100)


def _some(deltas: Sequence[Delta]) -> Sequence[Delta]:
    if not deltas:
        raise ValueError("there are no deltas, expected at least one")
    return deltas


@dataclass(frozen=True, slots=True)
class _Mean:
    """Computes each block when it is asked for: only one of every delta is in memory at a time."""

    deltas: Sequence[Delta]

    @property
    def shapes(self) -> Shapes:
        return self.deltas[0].shapes

    def blocks(self, name: str) -> Iterator[Array]:
        """Return the mean of a tensor's blocks, summed in float64."""
        return map(_mean_of, zip(*(delta.blocks(name) for delta in self.deltas), strict=True))


@dataclass(frozen=True, slots=True)
class _Trimmed:
    """Drops so many values of every weight at either end, and takes the mean of the others."""

    deltas: Sequence[Delta]
    drop: int

    @property
    def shapes(self) -> Shapes:
        return self.deltas[0].shapes

    def blocks(self, name: str) -> Iterator[Array]:
        """Return a tensor's blocks; only one of every delta is in memory at a time."""
        kept = range(self.drop, len(self.deltas) - self.drop)
        for rows in zip(*(delta.blocks(name) for delta in self.deltas), strict=True):
            yield _mean_of(select([row.copy() for row in rows], kept))


def _mean_of(rows: Sequence[Array]) -> Array:
    """Return the mean of arrays, summed in float64."""
    first, *others = rows
    total = first.astype(np.float64)
    for other in others:
        total += other
    return np.divide(total, len(rows), out=total).astype(np.float32)
