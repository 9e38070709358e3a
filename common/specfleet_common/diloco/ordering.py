"""Order statistics of many weights at once: a sorting network whose comparators are whole arrays.

A comparator is a minimum and a maximum of two arrays, which runs at the speed of memory; sorting
the few values of one weight after another is many times slower.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

import numpy as np

from specfleet_common.tensors import Array

Comparator = tuple[int, int]


def select(rows: Sequence[Array], wanted: range) -> list[Array]:
    """Return of every column the values that come `wanted`-th in order; the rows are used up."""
    rows, spare = list(rows), np.empty_like(rows[0])
    for low, high in comparators(len(rows), wanted):
        smaller = np.minimum(rows[low], rows[high], out=spare)
        np.maximum(rows[low], rows[high], out=rows[high])
        rows[low], spare = smaller, rows[low]
    return rows[wanted.start : wanted.stop]


@functools.cache
def comparators(size: int, wanted: range) -> tuple[Comparator, ...]:
    """Return Batcher's odd-even merge sort without what the wanted places do not depend on."""
    needed, kept = set(wanted), []
    for low, high in reversed(list(_merge_sort(size))):
        if low in needed or high in needed:
            needed |= {low, high}
            kept.append((low, high))
    return tuple(reversed(kept))


def _merge_sort(size: int) -> Iterator[Comparator]:
    """Yield the network of Knuth's algorithm 5.2.2M, which sorts any number of values."""
    merged = 1
    while merged < size:
        distance = merged
        while distance:
            for first in range(distance % merged, size - distance, 2 * distance):
                for low in range(first, min(first + distance, size - distance)):
                    high = low + distance
                    if low // (2 * merged) == high // (2 * merged):
                        yield low, high
            distance //= 2
        merged *= 2
