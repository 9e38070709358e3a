"""Sorting networks: by the zero-one principle, one that sorts all of 0 and 1 sorts everything."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from specfleet_common.diloco.ordering import comparators, select


@pytest.mark.parametrize("size", range(1, 13))
def test_all_zeros_and_ones_are_sorted(size: int) -> None:
    columns = np.array(list(itertools.product([0.0, 1.0], repeat=size)), np.float32).T

    ordered = select([row.copy() for row in columns], range(size))

    np.testing.assert_array_equal(np.array(ordered), np.sort(columns, axis=0))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 16, 33, 200, 256])
def test_the_wanted_places_are_those_of_a_sort(size: int) -> None:
    rows = np.random.default_rng(size).standard_normal((size, 50), np.float32)
    wanted = range(size // 3, size - size // 3)

    found = select([row.copy() for row in rows], wanted)

    np.testing.assert_array_equal(
        np.array(found), np.sort(rows, axis=0)[size // 3 :][: len(wanted)]
    )


def test_what_is_not_wanted_is_not_compared_to_the_end() -> None:
    whole, middle = comparators(16, range(16)), comparators(16, range(7, 9))

    assert len(whole) == 63
    assert len(middle) < len(whole)
