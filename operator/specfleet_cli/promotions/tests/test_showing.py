"""Promotions as rows, as details and as documents."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import yaml

from specfleet_cli.promotions.listing import Listed
from specfleet_cli.promotions.showing import (
    COLUMNS,
    as_text,
    details,
    document,
    interval,
    row,
    table,
)
from specfleet_common.api.promotion import Decision
from specfleet_common.wire.messages import EffectState, PromotionState

EFFECT = EffectState("candidate over stable", "tokens per verify step", 0.031, 0.012, 0.05, 80, 60)
STATE = PromotionState(
    id="12-aaaaaaaaaaaa",
    number=12,
    digest="a" * 64,
    phase="Canary",
    outcome="",
    sentence="Undecided so far.",
    started_at=1_800_000_000.0,
    waits_for_approval=True,
    engines=3,
    candidate_engines=1,
    effects=(EFFECT,),
    breaches=("time per output token rose by +9.00 %, allowed is +5.00 %",),
)
ONE = Listed("tiny-12-aaaaaaaa", "tiny", "0" * 16, STATE)


def test_a_row_has_the_gain_with_its_interval() -> None:
    assert dict(zip(COLUMNS, row(ONE), strict=True)) == {
        "name": "tiny-12-aaaaaaaa",
        "phase": "Canary, waits for approval",
        "outcome": "-",
        "gain": "+3.10 % (+1.20 % to +5.00 %)",
        "when": "2027-01-15 08:00:00Z",
        "sentence": "Undecided so far.",
    }


def test_what_has_ended_shows_when() -> None:
    ended = replace(STATE, phase="Done", outcome="Promoted", finished_at=STATE.started_at + 60)

    cells = dict(zip(COLUMNS, row(replace(ONE, state=ended)), strict=True))

    assert (cells["outcome"], cells["when"]) == ("Promoted", "2027-01-15 08:01:00Z")


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    other = replace(ONE, name="x", state=replace(STATE, waits_for_approval=False))

    heading, *lines = table([row(ONE), row(other)])

    at = heading.index("GAIN")
    assert [line[at:].startswith("+3.10 %") for line in lines] == [True, True]


def test_an_unbounded_effect_has_dashes() -> None:
    assert interval(replace(EFFECT, lower=-1.0, upper=math.inf)) == "+3.10 % (- to -)"
    assert interval(replace(EFFECT, gain=math.nan)) == "-"


def test_details_say_everything() -> None:
    lines = list(details(replace(ONE, decision=Decision.APPROVE)))

    assert f"version    12 ({'a' * 64})" in lines
    assert "decision   Approve" in lines
    assert "engines    1 of 3 run the candidate" in lines
    assert (
        "effect     candidate over stable: +3.10 % (+1.20 % to +5.00 %) tokens per verify step, "
        "from 80 records in 60 clusters"
    ) in lines
    assert "guard      time per output token rose by +9.00 %, allowed is +5.00 %" in lines


def test_json_and_yaml_say_the_same_and_know_no_infinity() -> None:
    unknown = replace(EFFECT, gain=math.nan, lower=-1.0, upper=math.inf)
    found = document(replace(ONE, state=replace(STATE, effects=(unknown,))))

    read = json.loads(as_text(found, "json"))

    assert yaml.safe_load(as_text(found, "yaml")) == read
    assert read["effects"][0] | {"gain": None, "lower": None, "upper": None} == read["effects"][0]
    assert (read["version"], read["outcome"], read["decision"]) == (12, None, None)
    assert read["startedAt"] == "2027-01-15T08:00:00.000+00:00"
