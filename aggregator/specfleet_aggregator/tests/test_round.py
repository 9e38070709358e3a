"""When rounds close and what they count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specfleet_aggregator.round import (
    Round,
    RoundPolicy,
    close_reason,
    count,
    judge,
    open_round,
    quorum,
)
from specfleet_aggregator.tests.builders import STOCK_DIGEST, header
from specfleet_common.wire.messages import Outcome, VersionRef

BASE = VersionRef(3, STOCK_DIGEST, 10)
POLICY = RoundPolicy(quorum_minimum=2, quorum_percent=60, max_round_seconds=60.0)


def round_with(*workers: str, number: int = 3) -> Round:
    round_ = open_round(number, BASE, now=0.0)
    for worker in workers:
        round_, _ = count(round_, header(worker, round_=number, base=3))
    return round_


@pytest.mark.parametrize(
    ("training", "expected"),
    [
        pytest.param(0, 2, id="nobody-trains-minimum"),
        pytest.param(3, 2, id="sixty-percent-of-three-rounds-up"),
        pytest.param(5, 3, id="sixty-percent-of-five-is-exact"),
        pytest.param(100, 60, id="large-fleet"),
    ],
)
def test_quorum(training: int, expected: int) -> None:
    assert quorum(POLICY, training=training) == expected


@pytest.mark.parametrize(
    ("workers", "now", "reason"),
    [
        pytest.param("abc", 1.0, "3 deltas reached the quorum of 3", id="quorum"),
        pytest.param("ab", 59.9, None, id="minimum-but-still-waiting"),
        pytest.param(
            "ab",
            60.0,
            "2 of 3 deltas within 60 s, the minimum is enough",
            id="minimum-and-time-is-up",
        ),
        pytest.param("a", 9e9, None, id="never-below-the-minimum"),
    ],
)
def test_close_reason(workers: str, now: float, reason: str | None) -> None:
    assert close_reason(round_with(*workers), POLICY, training=5, now=now) == reason


@pytest.mark.parametrize(
    ("round_", "base"),
    [
        pytest.param(2, 2, id="the-last-round"),
        pytest.param(4, 4, id="a-round-to-come"),
        pytest.param(3, 2, id="this-round-from-another-version"),
    ],
)
def test_a_delta_of_another_round_is_stale(round_: int, base: int) -> None:
    reply = judge(round_with(), header("a", round_=round_, base=base))

    assert reply is not None
    assert reply.outcome is Outcome.STALE
    assert "round 3 from version 3 is open" in reply.reason


def test_a_version_that_was_lost_leaves_its_number_to_the_round() -> None:
    round_ = open_round(5, BASE, now=0.0)

    reply = judge(round_, header("a", round_=5, base=3))

    assert reply is None


@given(st.lists(st.sampled_from("abcde")))
def test_no_order_of_pushes_counts_twice(pushes: list[str]) -> None:
    round_ = open_round(3, BASE, now=0.0)
    outcomes = []

    for worker in pushes:
        round_, reply = count(round_, header(worker, round_=3, base=3))
        outcomes.append(reply.outcome)

    assert set(round_.deltas) == set(pushes)
    assert outcomes.count(Outcome.ACCEPTED) == len(set(pushes))
    assert outcomes.count(Outcome.DUPLICATE) == len(pushes) - len(set(pushes))
