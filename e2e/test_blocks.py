"""Blocks are ordered at random but fairly, and gains compare within a round."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from e2e.blocks import (
    Block,
    break_even,
    overall_acceptance,
    overall_speed,
    paired_gain,
    plan,
)


def block(round_: int, arm: str, speed: float, *, steps: int = 0, accepted: int = 0) -> Block:
    return Block(
        round_, arm, seconds=100 / speed, tokens=100, verify_steps=steps, accepted=accepted
    )


@given(st.integers(0, 20), st.integers(0, 2**32))
def test_every_round_has_every_arm_once(rounds: int, seed: int) -> None:
    orders = plan(["a", "b", "c"], rounds=rounds, seed=seed)

    assert len(orders) == rounds
    assert all(sorted(order) == ["a", "b", "c"] for order in orders)


def test_the_order_differs_from_round_to_round_and_follows_from_the_seed() -> None:
    orders = plan(["a", "b"], rounds=20, seed=1)

    assert set(orders) == {("a", "b"), ("b", "a")}
    assert orders == plan(["a", "b"], rounds=20, seed=1)


def test_a_machine_that_slows_down_does_not_change_the_gain() -> None:
    blocks = [
        block(round_, arm, speed / (round_ + 1))
        for round_ in range(4)
        for arm, speed in (("new", 150), ("old", 100))
    ]

    gain = paired_gain(blocks, "new", "old", seed=0)

    assert gain.percent == pytest.approx(50)
    assert (gain.low_percent, gain.high_percent) == pytest.approx((50, 50))
    assert gain.rounds == 4


@given(st.lists(st.floats(0.5, 2.0), min_size=2, max_size=8), st.integers(0, 100))
def test_the_interval_holds_the_gain_and_swapping_arms_inverts_it(
    ratios: list[float], seed: int
) -> None:
    blocks = [
        block(round_, arm, speed)
        for round_, ratio in enumerate(ratios)
        for arm, speed in (("new", 100 * ratio), ("old", 100))
    ]

    gain = paired_gain(blocks, "new", "old", seed=seed)
    loss = paired_gain(blocks, "old", "new", seed=seed)

    assert gain.low_percent <= gain.percent + 1e-6
    assert gain.percent <= gain.high_percent + 1e-6
    assert (1 + gain.percent / 100) * (1 + loss.percent / 100) == pytest.approx(1)


def test_break_even_is_where_verify_steps_would_be_as_fast_as_plain_ones() -> None:
    blocks = [block(0, "new", 150, steps=50, accepted=50), block(0, "plain", 180)]

    assert overall_acceptance(blocks, "new") == pytest.approx(2.0)
    assert overall_speed(blocks, "plain") == pytest.approx(180)
    assert break_even(blocks, "new", "plain") == pytest.approx(2.4)
    assert break_even(blocks, "plain", "new") is None
