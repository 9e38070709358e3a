"""The margin rule: what is equal, what a near-tie, and what the target would never have written."""

from __future__ import annotations

import pytest

from e2e.audits.asking import Rating, rating
from e2e.audits.margins import (
    Verdict,
    counted,
    first_difference,
    judge,
    with_second_choice,
)

MARGIN = 1e-3


def ratings(*gaps: float, second_gap: float = 1.0) -> list[Rating]:
    return [Rating(-0.1 - gap, gap, second=99, second_gap=second_gap) for gap in gaps]


@pytest.mark.parametrize(
    ("output", "gaps", "verdict"),
    [
        pytest.param((1, 2, 3), (0.0, 0.0, 0.0), Verdict.EQUAL, id="the-same"),
        pytest.param((1, 2, 3), (0.0, 5e-4, 0.0), Verdict.EQUAL, id="the-same-and-undecided"),
        pytest.param((1, 9, 8), (0.0, 5e-4, 0.0), Verdict.NEAR_TIE, id="other-at-a-near-tie"),
        pytest.param((1, 9, 8), (0.0, 0.2, 0.0), Verdict.VIOLATION, id="other-and-worse"),
        pytest.param((1, 9, 8), (0.0, 5e-4, 0.2), Verdict.VIOLATION, id="worse-after-a-near-tie"),
        pytest.param((1, 2, 3), (0.0, 0.2, 0.0), Verdict.VIOLATION, id="the-same-and-worse"),
        pytest.param((1, 2), (0.0, 0.0), Verdict.NEAR_TIE, id="shorter"),
    ],
)
def test_verdict(output: tuple[int, ...], gaps: tuple[float, ...], verdict: Verdict) -> None:
    judged = judge(output, (1, 2, 3), ratings(*gaps), margin=MARGIN)

    assert judged.verdict is verdict


def test_a_difference_is_reported_with_its_place_and_its_gap() -> None:
    judged = judge((1, 9, 8), (1, 2, 3), ratings(0.0, 5e-4, 7e-4), margin=MARGIN)

    assert (judged.difference, judged.difference_gap) == (1, 5e-4)
    assert (judged.largest_at, judged.largest_gap) == (2, 7e-4)


@pytest.mark.parametrize(
    ("output", "place"),
    [((1, 2), None), ((1, 3), 1), ((1,), 1), ((1, 2, 3), 2), ((), 0)],
)
def test_first_difference_to_one_and_two(output: tuple[int, ...], place: int | None) -> None:
    assert first_difference(output, (1, 2)) == place


def test_a_wrong_answer_ends_with_the_closest_second_choice_that_is_no_near_tie() -> None:
    told = [
        Rating(-0.1, 0.0, second=7, second_gap=0.5),
        Rating(-0.1, 0.0, second=8, second_gap=0.01),
        Rating(-0.1, 0.0, second=9, second_gap=MARGIN / 2),
    ]

    assert with_second_choice((1, 2, 3), told, margin=MARGIN) == (1, 8)


def test_an_answer_without_a_decided_token_has_no_wrong_one() -> None:
    told = ratings(0.0, second_gap=MARGIN / 2)

    assert with_second_choice((1,), told, margin=MARGIN) is None


def test_every_verdict_is_counted() -> None:
    judged = [judge((1,), (1,), ratings(gap), margin=MARGIN) for gap in (0.0, 0.0, 1.0)]

    assert counted(judged) == {"equal": 2, "near-tie": 0, "violation": 1}


@pytest.mark.parametrize(
    ("token", "gap"),
    [pytest.param(5, 0.0, id="the-first"), pytest.param(9, 2.5, id="none-of-the-two")],
)
def test_a_rating_is_read_from_what_vllm_tells(token: int, gap: float) -> None:
    told = {
        "9": {"logprob": -3.0, "rank": 17},
        "5": {"logprob": -0.5, "rank": 1},
        "4": {"logprob": -1.5, "rank": 2},
    }

    found = rating(token, told)

    assert (found.gap, found.second, found.second_gap) == (gap, 4, 1.0)
