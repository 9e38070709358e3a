"""Pictures of evidence: their points are what the judge says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specfleet_cli.drawing import svg
from specfleet_cli.evidence_plot import (
    MAX_POINTS,
    AnyPanel,
    Guard,
    GuardPanel,
    Mark,
    Panel,
    Point,
    drawing,
    looks,
    png,
    series,
)
from specfleet_cli.promotions.tests.lineages import walks
from specfleet_common.judge.deciding import Budget
from specfleet_common.judge.records import Walk
from specfleet_common.judge.replay import LIVE, ReplayPolicy, judge_replay, walk_clusters
from specfleet_common.judge.totals import Totals, add_up

BUDGET = Budget(passing=0.03, failing=0.05)


def over_stable(some: Sequence[Walk]) -> Totals:
    return add_up(walk_clusters(some, lambda walk: walk.stable_steps))


def panel(*marks: Mark, points: tuple[Point, ...] = (Point(10, 0.1, -1.0, math.inf),)) -> Panel:
    return Panel(
        "Replay", "tokens per verify step", "requests", points, 0.005, "minimumGain", marks
    )


@pytest.mark.parametrize("count", [1, 29, 30, 400])
def test_the_last_point_is_what_the_judge_says(count: int) -> None:
    some = walks(count, gain=0.1)
    verdict = judge_replay(some, ReplayPolicy(minimum_gain=0.005, margin=0.01), BUDGET)

    last = series(some, over_stable, LIVE, BUDGET)[-1]

    effect = verdict.effects[0]
    assert (last.num_records, last.gain, last.lower, last.upper) == (
        count,
        effect.gain,
        effect.lower,
        effect.upper,
    )


def test_points_say_only_what_was_known_then() -> None:
    some = walks(100, gain=0.1)

    early = series(some[:50], over_stable, LIVE, BUDGET)

    assert series(some, over_stable, LIVE, BUDGET)[:50] == early


def test_what_compares_nothing_has_no_points() -> None:
    assert series(walks(0, gain=0.1), over_stable, LIVE, BUDGET) == ()


@given(st.integers(0, 100_000))
def test_looks_are_few_and_end_with_everything(num_records: int) -> None:
    found = looks(num_records)

    assert len(found) == min(num_records, MAX_POINTS)
    assert found == sorted(set(found))
    assert found[-1:] == ([num_records] if num_records else [])


def test_the_picture_says_what_was_decided_and_what_was_required() -> None:
    text = svg(drawing([panel(Mark(10, "Enters Canary"))], "Promotion 12"))

    words = " ".join(ElementTree.fromstring(text).itertext())
    for expected in ("Promotion 12", "Enters Canary", "minimumGain +0.5 %", "requests"):
        assert expected in words


def test_the_same_panels_make_the_same_text() -> None:
    panels: list[AnyPanel] = [
        panel(),
        GuardPanel("Guards", (Guard("errors", ((5, 0.5), (10, 9.0))),)),
    ]

    assert svg(drawing(panels)) == svg(drawing(panels))


def test_without_evidence_the_picture_says_so() -> None:
    assert "There is no evidence yet." in svg(drawing([]))


def test_a_png_is_one() -> None:
    assert png([panel()]).startswith(b"\x89PNG")


def test_points_without_a_finite_bound_are_drawn() -> None:
    assert svg(drawing([panel(points=())]))
    assert svg(drawing([panel(points=(Point(1, 3.0, -1.0, math.inf),))]))
