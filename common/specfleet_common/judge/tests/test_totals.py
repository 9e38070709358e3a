import random

import numpy as np
import pytest

from specfleet_common.judge.totals import Cluster, add_up


def test_the_gain_is_that_of_the_sums() -> None:
    totals = add_up([Cluster(a=30, b=20, weight=1), Cluster(a=25, b=30, weight=1)])

    assert float(totals.gain) == pytest.approx(55 / 50 - 1)


def test_the_order_of_clusters_changes_no_bit() -> None:
    draw = random.Random(1)
    clusters = [
        Cluster(draw.uniform(0, 1e6), draw.uniform(0, 1), draw.random()) for _ in range(500)
    ]

    assert add_up(clusters) == add_up(sorted(clusters, key=lambda one: one.b))


def test_the_excess_is_above_zero_when_the_gain_is_larger() -> None:
    totals = add_up([Cluster(a=110, b=100, weight=1)])

    assert [float(totals.excess(gain)) > 0 for gain in (0.09, 0.11)] == [True, False]


def test_the_variance_is_that_of_the_contributions() -> None:
    rows = [(10.0, 9.0), (12.0, 13.0), (8.0, 7.0)]
    totals = add_up([Cluster(a, b, 1.0) for a, b in rows])

    assert float(totals.variance(0.05)) == pytest.approx(sum((a - 1.05 * b) ** 2 for a, b in rows))


def test_a_heavy_cluster_counts_for_few() -> None:
    even = add_up([Cluster(1, 1, 1.0)] * 10)
    uneven = add_up([Cluster(1, 1, 1.0)] * 9 + [Cluster(1, 1, 91.0)])

    assert float(even.effective_clusters) == pytest.approx(10)
    assert float(uneven.effective_clusters) == pytest.approx(100**2 / (9 + 91**2))


def test_nothing_has_no_gain_and_no_clusters() -> None:
    totals = add_up([])

    assert np.isnan(totals.gain) and totals.effective_clusters == 0
