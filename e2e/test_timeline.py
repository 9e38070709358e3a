"""Figures of a stretch of time come from what happened in it, in whatever life of an engine."""

from __future__ import annotations

import pytest

from e2e.timeline import (
    Count,
    acceptance_by_position,
    acceptance_length,
    spans,
    tokens_per_second,
    within,
)


def count(seconds: float, steps: int, *accepted: int, worker: str = "a") -> Count:
    return Count(seconds, worker, steps, accepted, steps + sum(accepted))


LIFE = [count(0, 0, 0, 0), count(10, 100, 40, 10), count(20, 200, 120, 50)]


def test_acceptance_of_a_stretch_is_that_of_its_own_steps() -> None:
    some = spans(LIFE, ["a"])

    assert acceptance_length(within(some, 0, 10)) == pytest.approx(1.5)
    assert acceptance_length(within(some, 10, 20)) == pytest.approx(2.2)
    assert acceptance_by_position(within(some, 10, 20)) == pytest.approx((0.8, 0.4))


def test_a_restart_of_the_engine_is_no_span() -> None:
    again = [count(30, 0, 0, 0), count(40, 10, 5, 5)]

    some = spans([*LIFE, *again], ["a"])

    assert [(span.begin, span.end) for span in some] == [(0, 10), (10, 20), (30, 40)]
    assert sum(span.verify_steps for span in some) == 210


def test_spans_of_several_engines_are_put_together() -> None:
    other = [count(5, 0, 0, 0, worker="b"), count(15, 10, 10, 10, worker="b")]

    some = spans([*LIFE, *other], ["a", "b"])

    assert [span.end for span in some] == [10, 15, 20]
    assert spans([*LIFE, *other], ["b"]) == [some[1]]


def test_tokens_per_second_count_idle_time() -> None:
    some = spans(LIFE, ["a"])

    assert tokens_per_second(some, 10, 30) == pytest.approx(220 / 20)


def test_without_a_step_there_is_no_acceptance_length() -> None:
    assert acceptance_length([]) is None
    assert acceptance_by_position([]) == ()
