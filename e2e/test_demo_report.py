"""The demo's report holds the promised fields, computed from what was seen."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from e2e import testing
from e2e.blocks import Block
from e2e.checks import Observation, Published
from e2e.comparing import Comparison
from e2e.demo_page import page, summary
from e2e.demo_report import NONE, STOCK, Facts, content
from e2e.stored import Version, spread
from e2e.timeline import Training
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


def block(round_: int, arm: str, speed: float, accepted: int = 0) -> Block:
    steps = 0 if arm == NONE else 100
    return Block(round_, arm, 100 / speed, 100, steps, accepted)


FACTS = Facts(
    fleet=testing.fleet(
        testing.worker("control-0", "control", train=False),
        testing.worker("push-0", "push", train=True),
    ),
    seconds=400.0,
    ready_seconds=50.0,
    counts=(
        *testing.counts("control-0", dict.fromkeys(range(1, 91), 1.0)),
        *testing.counts("push-0", {at: 1.0 if at <= 30 else 1.5 for at in range(1, 91)}),
    ),
    trainings=(Training(10.0, "push-0", "training", 1, 0, 5, 500, 90.0, (2.0, 2.5)),),
    published=(Published(0.0, 0, "a" * 64), Published(30.0, 1, "b" * 64)),
    observations=(
        Observation(0.0, "push-0", 0, "stock", "a" * 64),
        Observation(20.0, "push-0", 1, "local", "c" * 64),
    ),
    leg=testing.leg(90.0, "control-0", "push-0"),
    versions=((0, "a" * 64), (1, "b" * 64)),
    compared=Comparison(
        tuple(
            block(round_, arm, speed, accepted)
            for round_ in range(2)
            for arm, speed, accepted in ((NONE, 200, 0), (STOCK, 100, 0), ("version 1", 130, 30))
        ),
        compared=60,
        different=0,
    ),
    walked={"hi": {0: 1.0, 1: 1.4}, "en": {0: 1.2, 1: 0.9}},
    judged=None,
    seed=1,
)


def test_the_report_has_the_promised_fields() -> None:
    report = content(FACTS)

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
    report = content(FACTS)

    assert report["held_out"]["gain_percent"]["English"] == pytest.approx(-25)
    assert "English -25.0 %" in summary(report)


def test_mismatches_are_those_of_the_traffic_and_of_the_blocks() -> None:
    facts = replace(
        FACTS,
        leg=testing.leg(90.0, "control-0", "push-0", differences=(DIFFERENCE,)),
        compared=replace(FACTS.compared, different=2),
    )

    assert content(facts)["output_mismatches"] == 3


@pytest.mark.parametrize(
    ("plain", "words"),
    [pytest.param(200, "still slower", id="slower"), pytest.param(120, "faster", id="faster")],
)
def test_the_report_says_whether_speculation_pays_at_all(plain: float, words: str) -> None:
    blocks = tuple(
        replace(one, seconds=100 / plain) if one.arm == NONE else one
        for one in FACTS.compared.blocks
    )

    report = content(replace(FACTS, compared=replace(FACTS.compared, blocks=blocks)))

    even = 1.3 * plain / 130
    assert words in summary(report)
    assert f"break-even is at {even:.2f}" in page(FACTS, report)


def test_the_page_has_every_plot() -> None:
    text = page(FACTS, content(FACTS))

    assert text.count("<svg") == 8
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
    report = content(replace(FACTS, observations=FACTS.observations[:1]))

    assert report["crossover_seconds"] is None
