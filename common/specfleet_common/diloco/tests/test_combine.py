"""Laws of the rules that make one delta of several."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from specfleet_common.codecs import deltas as encoded
from specfleet_common.codecs.codec import Codec
from specfleet_common.codecs.deltas import Delta, Dense
from specfleet_common.diloco.combine import (
    combine,
    coordinate_median,
    mean,
    num_trimmed,
    trimmed_mean,
)
from specfleet_common.diloco.rule import Rule
from specfleet_common.diloco.tests.building import VALUES, deltas, named, rows, values
from specfleet_common.tensors import BLOCK, Array

Combine = Callable[[Sequence[Delta]], Delta]

ALL = pytest.mark.parametrize("rule", [mean, coordinate_median, trimmed_mean])
ROBUST = pytest.mark.parametrize("rule", [coordinate_median, trimmed_mean])


@ALL
@given(given_rows=rows(), random=st.randoms())
def test_the_order_of_workers_does_not_matter(
    rule: Combine, given_rows: Array, random: Random
) -> None:
    order = list(range(len(given_rows)))
    random.shuffle(order)

    one, other = values(rule(deltas(given_rows))), values(rule(deltas(given_rows[order])))

    np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


@ALL
@given(row=rows(largest=1), number=st.integers(1, 20))
def test_equal_deltas_make_that_delta(rule: Combine, row: Array, number: int) -> None:
    combined = values(rule(deltas([row[0]] * number)))

    np.testing.assert_array_equal(combined, row[0])


@ALL
@given(given_rows=rows(), shift=VALUES)
def test_what_is_added_to_all_is_added_to_the_result(
    rule: Combine, given_rows: Array, shift: float
) -> None:
    added = np.float32(shift)

    moved = values(rule(deltas(given_rows + added)))

    np.testing.assert_allclose(moved, values(rule(deltas(given_rows))) + added, atol=1e-3)


@ALL
@given(given_rows=rows(), factor=st.sampled_from([-4.0, -1.0, -0.5, 0.0, 0.25, 2.0]))
def test_what_multiplies_all_multiplies_the_result(
    rule: Combine, given_rows: Array, factor: float
) -> None:
    times = np.float32(factor)

    scaled = values(rule(deltas(given_rows * times)))

    np.testing.assert_allclose(scaled, values(rule(deltas(given_rows))) * times, atol=1e-6)


@ROBUST
@given(
    honest=arrays.arrays(np.float32, (2, 4), elements=VALUES),
    bad=arrays.arrays(np.float32, 4, elements=st.floats(width=32, allow_nan=False)),
    place=st.integers(0, 2),
)
def test_one_of_three_cannot_leave_the_range_of_the_others(
    rule: Combine, honest: Array, bad: Array, place: int
) -> None:
    given_rows = list(honest)
    given_rows.insert(place, bad)

    combined = values(rule(deltas(given_rows)))

    assert (combined >= honest.min(axis=0)).all()
    assert (combined <= honest.max(axis=0)).all()


@given(given_rows=rows(smallest=3, largest=16), bad=VALUES)
def test_less_than_half_cannot_move_the_median_out_of_the_range_of_the_others(
    given_rows: Array, bad: float
) -> None:
    number = (len(given_rows) - 1) // 2
    honest = given_rows[number:]
    given_rows = np.concatenate([np.full_like(given_rows[:number], 1e6 * bad), honest])

    combined = values(coordinate_median(deltas(given_rows)))

    assert (combined >= honest.min(axis=0)).all()
    assert (combined <= honest.max(axis=0)).all()


@given(given_rows=rows(smallest=3, largest=16), bad=VALUES)
def test_as_many_as_are_trimmed_cannot_leave_the_range_of_the_others(
    given_rows: Array, bad: float
) -> None:
    number = num_trimmed(len(given_rows))
    honest = given_rows[number:]
    given_rows = np.concatenate([np.full_like(given_rows[:number], 1e6 * bad), honest])

    combined = values(trimmed_mean(deltas(given_rows)))

    assert (combined >= honest.min(axis=0)).all()
    assert (combined <= honest.max(axis=0)).all()


@given(given_rows=rows(largest=16))
def test_the_median_is_that_of_numpy(given_rows: Array) -> None:
    combined = values(coordinate_median(deltas(given_rows)))

    expected = np.median(given_rows.astype(np.float64), axis=0).astype(np.float32)
    np.testing.assert_array_equal(combined, expected)


@pytest.mark.parametrize(
    ("num_deltas", "trimmed"),
    [(1, 0), (2, 0), (3, 1), (4, 1), (5, 1), (9, 1), (10, 2), (16, 3), (200, 40)],
)
def test_a_fifth_is_trimmed_at_either_end_and_at_least_one_of_three(
    num_deltas: int, trimmed: int
) -> None:
    assert num_trimmed(num_deltas) == trimmed


@given(given_rows=rows(smallest=5, largest=16))
def test_the_trimmed_mean_leaves_out_the_outermost(given_rows: Array) -> None:
    number = num_trimmed(len(given_rows))
    assume(number)

    combined = values(trimmed_mean(deltas(given_rows)))

    kept = np.sort(given_rows, axis=0)[number:-number].astype(np.float64)
    np.testing.assert_allclose(combined, kept.mean(axis=0), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("rule", list(Rule))
@given(given_rows=rows(largest=2))
def test_of_one_or_two_each_rule_makes_the_mean(rule: Rule, given_rows: Array) -> None:
    combined = combine(named(list(given_rows)), rule)

    np.testing.assert_array_equal(values(combined.delta), values(mean(deltas(given_rows))))
    assert combined.left_out == ()


@ROBUST
def test_blocks_are_combined_like_the_whole(rule: Combine) -> None:
    generator = np.random.default_rng(1)
    given_rows = generator.standard_normal((5, 2 * BLOCK + 7), np.float32)

    combined = values(rule(deltas(given_rows)))

    at_once = [values(rule(deltas(given_rows[:, part]))) for part in (slice(99), slice(99, None))]
    np.testing.assert_array_equal(combined, np.concatenate(at_once))


@ROBUST
@pytest.mark.parametrize("codec", list(Codec))
def test_encoded_deltas_are_combined_as_they_are_decoded(rule: Combine, codec: Codec) -> None:
    size = BLOCK + 7
    generator = np.random.default_rng(1)
    sent = [{"a": generator.standard_normal(size, np.float32)} for _ in range(3)]

    opened = [
        encoded.open_delta(encoded.encode(one, codec), codec, shapes={"a": (size,)}) for one in sent
    ]

    decoded = deltas([values(one) for one in opened])
    np.testing.assert_array_equal(values(rule(opened)), values(rule(decoded)))


@ALL
def test_of_many_deltas_only_blocks_are_in_memory(rule: Combine) -> None:
    number, size = 16, 8 * BLOCK
    data = encoded.encode({"a": np.ones(size, np.float32)}, Codec.TERNARY)
    opened = [encoded.open_delta(data, Codec.TERNARY, shapes={"a": (size,)})] * number

    tracemalloc.start()
    try:
        num_blocks = sum(1 for _ in rule(opened).blocks("a"))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert num_blocks == 8
    assert peak < number * size * 4 / 2


@ROBUST
def test_what_is_combined_is_left_as_it_was(rule: Combine) -> None:
    given_rows = np.random.default_rng(1).standard_normal((5, 9), np.float32)
    before = given_rows.copy()

    values(rule(deltas(given_rows)))

    np.testing.assert_array_equal(given_rows, before)


@ALL
def test_nothing_cannot_be_combined(rule: Combine) -> None:
    with pytest.raises(ValueError, match="expected at least one"):
        rule([])


def test_tensors_of_several_names_and_shapes_keep_them() -> None:
    given_deltas = [
        Dense({"a": np.full((2, 3), number, np.float32), "b": np.ones(4, np.float32)})
        for number in (1.0, 2.0, 9.0)
    ]

    combined = coordinate_median(given_deltas)

    assert combined.shapes == {"a": (2, 3), "b": (4,)}
    np.testing.assert_array_equal(values(combined), np.full(6, 2.0, np.float32))
