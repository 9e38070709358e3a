import pytest

from specfleet_common.judge.spending import promotion_alpha


def test_promotions_that_all_fail_spend_no_more_than_the_budget() -> None:
    levels = [promotion_alpha(0.05, [False] * before) for before in range(500)]

    assert levels == sorted(levels, reverse=True)
    assert 0.0499 < sum(levels) <= 0.05


def test_a_right_promotion_hands_its_budget_on() -> None:
    first, second = (promotion_alpha(0.05, past) for past in ([], [False]))

    assert promotion_alpha(0.05, [True]) == pytest.approx(first + second)


def test_a_failure_ends_what_was_handed_on() -> None:
    assert promotion_alpha(0.05, [True, False]) == promotion_alpha(0.05, [False, False])


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_budget_is_a_share(alpha: float) -> None:
    with pytest.raises(ValueError, match=f"alpha is {alpha}, expected a number above 0"):
        promotion_alpha(alpha, [])
