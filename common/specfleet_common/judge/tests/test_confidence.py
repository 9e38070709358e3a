import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specfleet_common.judge.confidence import ConfidenceSequence
from specfleet_common.judge.totals import Cluster, Totals, add_up

SEQUENCE = ConfidenceSequence(scale=30.0, minimum_clusters=10)
ALPHA = 0.05


def clusters(gain: float, count: int, *, seed: int = 0) -> Totals:
    rng = np.random.default_rng(seed)
    b = rng.uniform(50, 150, count)
    a = (1 + gain) * b + rng.normal(0, 2, count)
    return add_up(Cluster(float(x), float(y), float(y)) for x, y in zip(a, b, strict=True))


@given(st.floats(1e-3, 1e6), st.sampled_from([1e-6, 0.03, 0.05, 0.2]))
def test_the_closed_form_lies_on_or_above_the_mixture_boundary(
    variance: float, alpha: float
) -> None:
    u = float(SEQUENCE.radius(np.asarray(variance), alpha))

    total = variance + SEQUENCE.scale
    mixture = (
        2
        * math.sqrt(SEQUENCE.scale / total)
        * math.exp(u * u / (2 * total))
        * 0.5
        * math.erfc(-u / math.sqrt(2 * total))
    )
    assert mixture >= (1 - 1e-9) / alpha


@given(st.floats(-0.2, 0.2), st.integers(40, 300))
def test_a_gain_is_surely_exceeded_exactly_up_to_the_lower_bound(gain: float, count: int) -> None:
    totals = clusters(gain, count)
    lower, upper = (
        float(bound) for bound in (SEQUENCE.lower(totals, ALPHA), SEQUENCE.upper(totals, ALPHA))
    )

    assert lower < float(totals.gain) < upper
    assert SEQUENCE.above(totals, lower - 1e-6, ALPHA)
    assert not SEQUENCE.above(totals, lower + 1e-6, ALPHA)
    assert SEQUENCE.below(totals, upper + 1e-6, ALPHA)
    assert not SEQUENCE.below(totals, upper - 1e-6, ALPHA)


def test_too_few_clusters_have_no_bounds() -> None:
    totals = clusters(0.5, 9)

    assert SEQUENCE.lower(totals, ALPHA) == -1.0
    assert np.isinf(SEQUENCE.upper(totals, ALPHA))


def test_more_evidence_brings_the_bounds_closer() -> None:
    widths = [
        float(SEQUENCE.upper(totals, ALPHA) - SEQUENCE.lower(totals, ALPHA))
        for totals in (clusters(0.01, 50), clusters(0.01, 500))
    ]

    assert widths[1] < widths[0] / 2


def test_a_loss_that_may_be_unseen_is_held_against_a_gain_and_soon_forgotten() -> None:
    careful = ConfidenceSequence(scale=30.0, minimum_clusters=10, unseen_loss=0.15)
    few, many = clusters(0.02, 50), clusters(0.02, 5000)

    costs = [
        float(SEQUENCE.lower(totals, ALPHA) - careful.lower(totals, ALPHA))
        for totals in (few, many)
    ]

    assert costs[0] > 0.002 and costs[1] < 0.0001
    assert careful.upper(few, ALPHA) == SEQUENCE.upper(few, ALPHA)


@pytest.mark.parametrize("tails", ["normal", "cauchy"])
def test_symmetric_contributions_cross_the_boundary_no_more_often_than_alpha(tails: str) -> None:
    rng = np.random.default_rng(2)
    e = rng.standard_normal((1000, 500)) if tails == "normal" else rng.standard_cauchy((1000, 500))
    e *= 5

    boundary = SEQUENCE.radius(np.cumsum(e**2, axis=1), ALPHA)

    assert (np.cumsum(e, axis=1) > boundary).any(axis=1).mean() <= ALPHA
