"""Which deltas are left out for their length, and what comes of the others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from specfleet_common.diloco.combine import combine
from specfleet_common.diloco.lengths import MAX_MEDIANS, TooLong, length, too_long
from specfleet_common.diloco.rule import Rule
from specfleet_common.diloco.tests.building import VALUES, named, rows, values
from specfleet_common.tensors import Array


def of_norms(*norms: float) -> list[Array]:
    return [np.array([0.0, -norm], np.float32) for norm in norms]


def test_a_delta_longer_than_twice_the_median_is_named_with_its_norm() -> None:
    found = too_long(named(of_norms(1.0, 100.0, 2.0)))

    assert found == (TooLong("b", norm=100.0, limit=4.0),)


@pytest.mark.parametrize(
    ("norms", "names"),
    [
        pytest.param((1.0,), [], id="one"),
        pytest.param((1.0, 1000.0), [], id="of-two-nobody-knows-which-is-wrong"),
        pytest.param((1.0, 2.0, 1.0), [], id="at-the-limit"),
        pytest.param((1.0, 2.1, 1.0), ["b"], id="beyond-the-limit"),
        pytest.param((0.0, 1.0, 1.1), [], id="a-silent-one-puts-no-other-out"),
        pytest.param((9.0, 1.0, 1.0, 9.0, 1.0), ["a", "d"], id="two-of-five"),
        pytest.param((0.0, 0.0, 0.0), [], id="nothing-was-learned"),
    ],
)
def test_who_is_too_long(norms: tuple[float, ...], names: list[str]) -> None:
    found = too_long(named(of_norms(*norms)))

    assert [one.worker_id for one in found] == names


@given(given_rows=rows(largest=16))
def test_more_than_half_are_never_too_long(given_rows: Array) -> None:
    deltas = named(list(given_rows))

    found = too_long(deltas)

    assert 2 * len(found) < len(deltas)
    assert all(one.norm == length(deltas[one.worker_id]) > one.limit for one in found)


@pytest.mark.parametrize("rule", [Rule.MEAN, Rule.COORDINATE_MEDIAN])
def test_only_the_trimmed_mean_leaves_deltas_out(rule: Rule) -> None:
    some = named(of_norms(1.0, 1.0, 1.0, 1000.0))

    assert combine(some, rule).left_out == ()
    assert [one.worker_id for one in combine(some, Rule.TRIMMED_MEAN).left_out] == ["d"]


@pytest.mark.parametrize(
    ("norms", "expected"),
    [
        pytest.param((1.0, 2.0, 900.0), 1.5, id="of-three-the-mean-of-the-others"),
        pytest.param((1.0, 2.0, 3.0, 900.0), 2.0, id="of-four-the-mean-of-the-others"),
        pytest.param((2.0, 2.0, 3.0, 4.0, 6.0), 3.0, id="none-is-and-one-is-trimmed"),
        pytest.param(
            (1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 3.0, 900.0), 2.0, id="one-is-and-one-trimmed"
        ),
    ],
)
def test_those_left_out_count_among_the_trimmed(norms: tuple[float, ...], expected: float) -> None:
    combined = combine(named(of_norms(*norms)), Rule.TRIMMED_MEAN)

    np.testing.assert_array_equal(values(combined.delta), np.array([0.0, -expected], np.float32))


@given(
    honest=arrays.arrays(np.float32, (2, 4), elements=VALUES),
    bad=arrays.arrays(np.float32, 4, elements=st.floats(width=32, allow_nan=False)),
)
def test_one_of_three_moves_no_weight_out_of_the_range_of_others_that_are_about_as_long(
    honest: Array, bad: Array
) -> None:
    shorter, longer = sorted(length(delta) for delta in named(list(honest)).values())
    if longer > MAX_MEDIANS * shorter:
        honest[1] = honest[0]

    combined = combine(named([*honest, bad]), Rule.TRIMMED_MEAN)

    assert {one.worker_id for one in combined.left_out} <= {"c"}
    assert (values(combined.delta) >= honest.min(axis=0)).all()
    assert (values(combined.delta) <= honest.max(axis=0)).all()
