import pytest

from specfleet_common.judge.confidence import ConfidenceSequence
from specfleet_common.judge.power import more, needed_growth
from specfleet_common.judge.tests.test_confidence import clusters

SEQUENCE = ConfidenceSequence(scale=30.0, minimum_clusters=10)


def growth(gain: float, limit: float) -> float | None:
    return needed_growth(
        SEQUENCE, clusters(gain, 40, seed=3), gain=limit, above_alpha=0.03, below_alpha=0.05
    )


def test_after_the_forecast_growth_the_evidence_decides() -> None:
    totals = clusters(0.012, 40, seed=3)
    factor = growth(0.012, 0.005)

    assert factor is not None and factor > 1
    assert SEQUENCE.above(totals.times(1.001 * factor), 0.005, 0.03)
    assert not SEQUENCE.above(totals.times(0.98 * factor), 0.005, 0.03)


def test_what_is_decided_needs_no_more() -> None:
    assert growth(0.2, 0.0) == 1.0


def test_a_gain_right_at_the_limit_cannot_be_foreseen() -> None:
    exact = float(clusters(0.01, 40, seed=3).gain)

    assert growth(0.01, exact) is None


@pytest.mark.parametrize(
    ("count", "factor", "missing"),
    [(100, 1.0, 0), (100, 1.034, 4), (100, 4.413, 350), (1000, 13.3411, 13_000)],
)
def test_missing_records_are_rounded_up_to_two_digits(
    count: int, factor: float, missing: int
) -> None:
    assert more(count, factor) == missing
