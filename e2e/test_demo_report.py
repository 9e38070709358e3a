"""The demo's report holds the promised fields, computed from what was seen."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from e2e import testing
from e2e.demo_page import page, summary
from e2e.demo_report import NONE, content
from e2e.stored import Version, spread
from specfleet_cli.traffic.comparison import Difference

PROMISED = {
    "held_out_gain_percent",
    "live_gain_percent",
    "tokens_per_second_gain_percent",
    "crossover_seconds",
    "pipeline_cost_percent",
    "requests",
    "request_errors",
    "output_mismatches",
    "versions",
}
DIFFERENCE = Difference("push-0", 1, "hi-1", "prompt", 3, "token", "(1,)", "(2,)")


def test_the_report_has_the_promised_fields() -> None:
    report = content(testing.FACTS)

    assert report.keys() >= PROMISED
    assert report["held_out_gain_percent"] == pytest.approx(40)
    assert report["live_gain_percent"] == pytest.approx(50)
    assert report["tokens_per_second_gain_percent"] == pytest.approx(30)
    assert report["crossover_seconds"] == pytest.approx(32)
    assert report["pipeline_cost_percent"] is None
    assert report["pipeline_cost_reason"]
    assert (report["requests"], report["request_errors"]) == (200, 0)
    assert [version["number"] for version in report["versions"]] == [0, 1]
    assert report["versions"][1] == {
        "number": 1,
        "digest": "b" * 64,
        "held_out_acceptance_length": 1.4,
    }
    assert json.loads(json.dumps(report))


def test_what_the_other_languages_lost_is_in_the_report() -> None:
    report = content(testing.FACTS)

    assert report["held_out"]["gain_percent"]["English"] == pytest.approx(-25)
    assert "English -25.0 %" in summary(report)


def test_mismatches_are_those_of_the_traffic_and_of_the_blocks() -> None:
    facts = replace(
        testing.FACTS,
        leg=testing.leg(90.0, "control-0", "push-0", differences=(DIFFERENCE,)),
        compared=replace(testing.FACTS.compared, different=2),
    )

    assert content(facts)["output_mismatches"] == 3


@pytest.mark.parametrize(
    ("plain", "words"),
    [pytest.param(200, "still slower", id="slower"), pytest.param(120, "faster", id="faster")],
)
def test_the_report_says_whether_speculation_pays_at_all(plain: float, words: str) -> None:
    blocks = tuple(
        replace(one, seconds=100 / plain) if one.arm == NONE else one
        for one in testing.FACTS.compared.blocks
    )

    report = content(
        replace(testing.FACTS, compared=replace(testing.FACTS.compared, blocks=blocks))
    )

    even = 1.3 * plain / 130
    assert words in summary(report)
    assert f"break-even is at {even:.2f}" in page(testing.FACTS, report)


def test_the_page_has_every_plot() -> None:
    text = page(testing.FACTS, content(testing.FACTS))

    assert text.count("<figure") == 8
    assert "above control from 32 s" in text


@pytest.mark.parametrize(
    ("versions", "at_most", "numbers"),
    [
        pytest.param(3, 12, [0, 1, 2], id="all-of-few"),
        pytest.param(81, 5, [0, 20, 40, 60, 80], id="some-of-many"),
    ],
)
def test_versions_are_spread_from_the_first_to_the_last(
    versions: int, at_most: int, numbers: list[int]
) -> None:
    stored = [Version(number, "", memoryview(b"")) for number in range(versions)]

    assert [version.number for version in spread(stored, at_most)] == numbers


def test_an_engine_that_only_ran_stock_has_no_crossover() -> None:
    report = content(replace(testing.FACTS, observations=testing.FACTS.observations[:1]))

    assert report["crossover_seconds"] is None
