"""Counters become numbers."""

from __future__ import annotations

from specfleet_cli.acceptance import Reading
from specfleet_cli.traffic.comparison import Comparison
from specfleet_cli.traffic.counters import read_counters
from specfleet_cli.traffic.tally import Tally, over_time, overall, progress, result

READINGS = [Reading(0.0, 0, 0), Reading(5.0, 100, 100), Reading(10.0, 200, 300)]
METRICS = """
# TYPE vllm:spec_decode_num_drafts_total counter
vllm:spec_decode_num_drafts_total{engine="0",model_name="m"} 100.0
vllm:spec_decode_num_drafts_created{engine="0",model_name="m"} 1.7e9
vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="m"} 150.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="0"} 90.0
"""


def test_the_speculation_counters_are_found_among_their_neighbours() -> None:
    assert read_counters(METRICS, at=3.0) == Reading(at=3.0, verify_steps=100, accepted=150)


def test_an_engine_that_does_not_speculate_has_no_counters() -> None:
    assert read_counters("vllm:other_total 3\n", at=0.0) is None


def test_acceptance_is_reported_in_total_and_over_time() -> None:
    assert overall(READINGS) == 2.5
    assert over_time(READINGS) == ((5.0, 2.0), (10.0, 3.0))


def test_a_restart_of_the_engine_is_bridged() -> None:
    readings = [*READINGS, Reading(15.0, 10, 0), Reading(20.0, 110, 0)]

    assert overall(readings) == 2.0
    assert over_time(readings)[-1] == (20.0, 1.0)


def test_a_tally_becomes_a_result() -> None:
    tally = Tally(requests=3, tokens=100, last_answer_at=8.0, readings=list(READINGS))
    tally.errors["HTTP 500"] += 1

    outcome = result("engine", tally, Comparison("control", num_others=1))

    assert (outcome.tokens_per_second, outcome.errors) == (12.5, {"HTTP 500": 1})
    assert (outcome.acceptance_length, outcome.compared, outcome.different) == (2.5, 0, 0)


def test_progress_has_rates_since_the_line_before() -> None:
    tally = Tally(requests=3, tokens=100, readings=list(READINGS))

    line = progress("e", tally, Comparison("c", num_others=1), before=Tally(tokens=60), seconds=4.0)

    assert (line["tokens_per_second"], line["acceptance_length"]) == (10.0, 3.0)


def test_an_engine_without_answers_has_no_rate() -> None:
    outcome = result("engine", Tally(), Comparison("control", num_others=1))

    assert (outcome.tokens_per_second, outcome.acceptance_length) == (0.0, None)
