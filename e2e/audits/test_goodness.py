"""The test of distributions: right counts pass, wrong ones are found, and power is as stated."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from e2e.audits.goodness import POWER, examine, holm, shifted, statistic
from e2e.audits.trees import Cell

PROBABILITIES = np.array([0.5, 0.3, 0.15, 0.05])
LEVEL = 1e-3


def drawn(probabilities: list[float], *, visits: int, number: int, seed: int) -> list[Cell]:
    """Return cells that are held to PROBABILITIES and drawn from others."""
    rng = np.random.default_rng(seed)
    return [Cell(PROBABILITIES, rng.multinomial(visits, probabilities)) for _ in range(number)]


def test_counts_from_the_distribution_itself_pass_and_the_control_fails() -> None:
    cells = drawn(list(PROBABILITIES), visits=200, number=10, seed=1)

    tested = examine(cells, level=LEVEL, rng=np.random.default_rng(2))

    assert tested.p_value > 0.01
    assert tested.control_p_value < LEVEL
    assert (tested.cells, tested.visits, tested.categories) == (10, 2000, 40)


def test_counts_from_another_distribution_are_found() -> None:
    cells = drawn([0.4, 0.36, 0.18, 0.06], visits=200, number=10, seed=1)

    tested = examine(cells, level=LEVEL, rng=np.random.default_rng(2))

    assert tested.p_value < LEVEL


def test_the_stated_distance_is_found_as_often_as_stated() -> None:
    right = drawn(list(PROBABILITIES), visits=200, number=5, seed=1)
    critical = 30.578  # of chi-squared with 15 degrees of freedom at 1 %

    distance = examine(right, level=0.01, rng=np.random.default_rng(2)).found_distance

    wrong = list(shifted(right, distance)[0].probabilities)
    found = [
        statistic(drawn(wrong, visits=200, number=5, seed=seed)) > critical for seed in range(1000)
    ]
    assert np.mean(found) == pytest.approx(POWER, abs=0.04)


def test_the_p_value_of_many_draws_is_that_of_chi_squared() -> None:
    cells = drawn(list(PROBABILITIES), visits=2000, number=2, seed=1)

    tested = examine(cells, level=LEVEL, rng=np.random.default_rng(2))

    half = tested.statistic / 2  # the tail of chi-squared with 2 x 3 degrees of freedom
    tail = math.exp(-half) * sum(half**power / math.factorial(power) for power in range(3))
    assert tested.p_value == pytest.approx(tail, abs=0.01)


@given(st.floats(0.0, 0.4))
def test_a_shift_is_as_large_as_it_says(distance: float) -> None:
    (moved,) = shifted([Cell(PROBABILITIES, np.ones(4, np.int64))], distance)

    assert abs(moved.probabilities - PROBABILITIES).sum() / 2 == pytest.approx(distance)
    assert moved.probabilities.sum() == pytest.approx(1.0)
    assert (moved.probabilities > 0).all()


def test_holm_is_strictest_with_the_smallest_and_never_changes_the_order() -> None:
    adjusted = holm({"a": 0.01, "b": 0.04, "c": 0.03})

    assert adjusted == pytest.approx({"a": 0.03, "c": 0.06, "b": 0.06})


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1), min_size=1))
def test_holm_never_makes_a_p_value_smaller(p_values: dict[str, float]) -> None:
    adjusted = holm(p_values)

    assert all(p_values[name] <= adjusted[name] <= 1 for name in p_values)
