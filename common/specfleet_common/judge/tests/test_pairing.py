import pytest

from specfleet_common.judge.pairing import Observation, paired_clusters
from specfleet_common.judge.switchback import Arm
from specfleet_common.judge.totals import add_up


def seen(cluster: int, arm: Arm, rate: float, seconds: float, band: int = 1) -> Observation:
    return Observation(cluster, band, arm, amount=rate * seconds, exposure=seconds)


def gain(observations: list[Observation]) -> float:
    return float(add_up(paired_clusters(observations, unit=1.0)).gain)


def test_the_ratio_of_rates_does_not_depend_on_how_long_each_arm_was_busy() -> None:
    rows = [seen(0, Arm.TRIAL, 110, 3.0), seen(0, Arm.BASE, 100, 29.0)]

    assert gain(rows) == pytest.approx(0.1)


def test_a_mix_of_bands_that_differs_between_the_arms_shows_no_effect() -> None:
    rows = [
        seen(0, Arm.TRIAL, 60, 5.0, band=1),
        seen(0, Arm.TRIAL, 100, 25.0, band=2),
        seen(0, Arm.BASE, 60, 25.0, band=1),
        seen(0, Arm.BASE, 100, 5.0, band=2),
    ]

    assert gain(rows) == pytest.approx(0.0)


def test_a_cell_that_one_arm_did_not_visit_adds_nothing() -> None:
    pair = [seen(0, Arm.TRIAL, 100, 9.0), seen(0, Arm.BASE, 100, 9.0)]
    lone = [seen(1, Arm.TRIAL, 500, 9.0), seen(0, Arm.BASE, 10, 9.0, band=7)]

    assert paired_clusters([*pair, *lone], unit=1.0) == paired_clusters(pair, unit=1.0)


def test_changing_the_labels_turns_the_contribution_round() -> None:
    (one,) = paired_clusters([seen(0, Arm.TRIAL, 90, 7.0), seen(0, Arm.BASE, 80, 11.0)], unit=1.0)
    (other,) = paired_clusters([seen(0, Arm.BASE, 90, 7.0), seen(0, Arm.TRIAL, 80, 11.0)], unit=1.0)

    assert (one.a - one.b, one.weight) == pytest.approx((other.b - other.a, other.weight))
