"""Curves, ratios and transfer are what they say, and pages hold what they are given."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from e2e.report.curves import (
    Point,
    acceptance_curve,
    crossover_seconds,
    gain_percent,
    last_third,
    rate_curve,
)
from e2e.report.figures import bars, by_number, over_time
from e2e.report.page import Section, Table, render
from e2e.report.ratios import mean_ratio, tokens_between
from e2e.report.resampling import bootstrap_interval
from e2e.report.transfer import backward_transfer, worst_domain
from e2e.report.writing import rounded
from e2e.timeline import Span
from specfleet_cli.drawing import Plot


def span(end: float, *, steps: int = 10, accepted: int = 0) -> Span:
    return Span(end - 1, end, steps, (accepted,), steps + accepted)


def points(*values: float) -> list[Point]:
    return [Point(float(at), value) for at, value in enumerate(values)]


def test_a_curve_forgets_what_is_older_than_its_window() -> None:
    some = [span(at, accepted=0 if at <= 50 else 10) for at in range(1, 101)]

    curve = acceptance_curve(some, begin=0, end=100)

    assert curve[0] == Point(2, 1.0)
    assert curve[-1] == Point(100, 2.0)
    assert rate_curve(some, begin=0, end=100)[-1] == Point(100, 20.0)


def test_windows_do_not_reach_back_before_the_beginning() -> None:
    some = [span(at, accepted=0 if at <= 1000 else 10) for at in range(900, 1100)]

    curve = acceptance_curve(some, begin=1000, end=1050)

    assert [point.value for point in curve] == [2.0] * 25
    assert [curve[0].seconds, curve[-1].seconds] == [2, 50]
    assert rate_curve(some, begin=1000, end=1050)[0] == Point(2, 20.0)


def test_a_window_without_steps_has_no_point() -> None:
    assert acceptance_curve([], begin=0, end=100) == []


@pytest.mark.parametrize(
    ("curve", "crossover"),
    [
        pytest.param((1, 1, 2, 2), 2.0, id="stays-above"),
        pytest.param((1, 3, 1, 2), 3.0, id="only-the-last-time-counts"),
        pytest.param((2, 2, 2, 2), 0.0, id="from-the-start"),
        pytest.param((2, 2, 2, 1), None, id="below-in-the-end"),
    ],
)
def test_crossover_is_where_the_curve_stays_above(
    curve: tuple[float, ...], crossover: float | None
) -> None:
    assert crossover_seconds(points(*curve), points(1.5, 1.5, 1.5, 1.5)) == crossover


def test_no_crossover_is_before_the_time_it_can_be_at() -> None:
    assert crossover_seconds(points(2, 2, 2, 2), points(1, 1, 1, 1), not_before=1.5) == 2.0


def test_moments_that_the_control_lacks_decide_nothing() -> None:
    assert crossover_seconds(points(9, 1, 2), points(1.5, 1.5)[1:]) is None


def test_the_last_third_is_what_ends_in_it() -> None:
    ends = [one.end for one in last_third([span(at) for at in range(91)], begin=0, end=90)]

    assert ends == list(range(61, 91))


def test_a_gain_over_something_unknown_is_unknown() -> None:
    assert gain_percent(3.0, 2.0) == pytest.approx(50)
    assert gain_percent(None, 2.0) is None
    assert gain_percent(2.0, None) is None


def test_a_mean_ratio_does_not_see_what_slows_both_down() -> None:
    ratio = mean_ratio([3, 15, 6, 27, 0], [2, 10, 4, 18, 5], seed=0)

    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((1.5, 1.5, 1.5))
    assert ratio.pairs == 4


def test_tokens_between_moments_are_those_of_the_spans_that_end_there() -> None:
    some = [span(1, steps=1), span(2, steps=2), span(4, steps=4), span(9, steps=8)]

    assert tokens_between(some, [0, 2, 3, 8]) == [3, 0, 4]


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=20), st.integers(0, 1000))
def test_a_bootstrap_interval_is_within_the_values(values: list[float], seed: int) -> None:
    low, high = bootstrap_interval(values, seed=seed)

    assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9


def test_a_bootstrap_interval_is_as_wide_as_the_normal_one() -> None:
    values = [math.sin(number) for number in range(200)]
    mean = sum(values) / len(values)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))

    low, high = bootstrap_interval(values, seed=0)

    assert high - low == pytest.approx(2 * 1.96 * deviation / math.sqrt(len(values)), rel=0.1)


def test_no_values_have_no_interval() -> None:
    with pytest.raises(ValueError, match="no values"):
        bootstrap_interval([], seed=0)


def test_transfer_of_the_published_matrix() -> None:
    """The gains that the published single-cluster system (SWARMS) reports."""
    matrix = [(8.5, -1.6, -3.0), (0.5, -0.3, -4.6), (-2.2, -8.3, 6.1)]

    assert backward_transfer(matrix) == pytest.approx(-9.35)
    assert worst_domain(matrix) == -8.3


def test_a_matrix_has_one_domain_per_phase() -> None:
    with pytest.raises(ValueError, match="one per phase"):
        backward_transfer([(1.0, 2.0)])


def test_pictures_are_self_contained_and_the_same_every_time() -> None:
    pictures = [
        over_time(
            {"a": points(1, 2), "b": points(2, 1)}, label="y", marks={"here": 1.0}, ticks=[1]
        ),
        bars(["1", "2"], {"a": (0.1, 0.2), "b": (0.3, 0.4)}, label="share"),
        by_number({"Hindi": {0: 1.0, 1: 1.5}}, label="length", xlabel="version"),
    ]

    assert all(one.wide.startswith("<svg") for one in pictures)
    assert all("here" in one for one in (pictures[0].wide, pictures[0].narrow))
    assert bars(["1", "2"], {"a": (0.1, 0.2), "b": (0.3, 0.4)}, label="share") == pictures[1]


def test_a_page_escapes_what_it_is_told() -> None:
    table = Table(("a", "b"), (("1 < 2", "x"),))
    plot = Plot("<svg/>", "<svg />")

    text = render("A & B", "<why>", [("tile", "+1 %")], [Section("S", "t", plot, table)])

    assert "A &amp; B" in text
    assert "&lt;why&gt;" in text
    assert "1 &lt; 2" in text
    assert text.count("<svg") == 2
    assert "+1&nbsp;%" in text


def test_rounding_reaches_everything_and_keeps_the_rest() -> None:
    content = {"a": [1.23456, {"b": (2.0, None, "x")}], "n": 3, "yes": True}

    assert rounded(content) == {"a": [1.2346, {"b": [2.0, None, "x"]}], "n": 3, "yes": True}
