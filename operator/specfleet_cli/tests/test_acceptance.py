"""Acceptance length over a window of growing counters."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from specfleet_cli.acceptance import WINDOW_SECONDS, Reading, Recent


def test_only_the_window_counts() -> None:
    recent = Recent()
    for at, steps, accepted in ((0.0, 0, 0), (10.0, 100, 0), (10.0 + WINDOW_SECONDS, 200, 150)):
        recent = recent.plus(Reading(at, steps, accepted))

    assert recent.length == 2.5


def test_there_is_no_length_without_steps() -> None:
    recent = Recent().plus(Reading(0.0, 5, 5)).plus(Reading(1.0, 5, 5))

    assert Recent().length is None
    assert recent.length is None


def test_an_engine_that_started_again_starts_over() -> None:
    recent = Recent().plus(Reading(0.0, 100, 200)).plus(Reading(1.0, 10, 10))

    recent = recent.plus(Reading(2.0, 20, 15))

    assert recent.length == 1.5


@given(st.lists(st.tuples(st.floats(0.1, 20), st.integers(0, 50)), min_size=1, max_size=60))
def test_what_is_kept_is_bounded_by_the_window(steps: list[tuple[float, int]]) -> None:
    recent, at, total = Recent(), 0.0, 0
    for seconds, number in steps:
        at, total = at + seconds, total + number
        recent = recent.plus(Reading(at, total, total))

    older = [reading for reading in recent.readings if reading.at <= at - WINDOW_SECONDS]

    assert len(older) <= 1
