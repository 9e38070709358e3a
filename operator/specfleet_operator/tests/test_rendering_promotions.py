"""How a promotion looks as an object."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specfleet_common.api.promotion import PromotionSpec, PromotionStatus
from specfleet_common.wire.messages import EffectState
from specfleet_operator.aggregation import Judged
from specfleet_operator.rendering.promotions import (
    progress,
    promotion_object,
    promotion_status,
    shown_progress,
)
from specfleet_operator.rendering.subject import Owner
from specfleet_operator.tests.building import LINEAGE, ended, promotion

OWNER = Owner("demo", "ml", "uid-of-demo")


def effect(**changes: Any) -> EffectState:
    fields = {
        "name": "candidate over stable",
        "measure": "tokens per verify step",
        "gain": 0.0421,
        "lower": 0.011,
        "upper": 0.0731,
        "num_records": 900,
        "num_clusters": 240,
    }
    return EffectState(**{**fields, **changes})


def test_an_object_says_what_is_judged_and_leaves_the_decision_to_users() -> None:
    found = promotion_object(OWNER, Judged(LINEAGE.id, promotion(12)))

    assert found["metadata"]["name"] == "demo-12-0000000cdddd"
    assert found["metadata"]["ownerReferences"][0]["uid"] == "uid-of-demo"
    spec = PromotionSpec.model_validate_json(json.dumps(found["spec"]))
    assert (spec.fleet, spec.lineage, spec.version) == ("demo", LINEAGE.id, 12)
    assert "decision" not in found["spec"]


def test_effects_are_shown_in_percent() -> None:
    found = promotion_status(promotion(12, effects=(effect(),)), generation=2)

    assert found["observedGeneration"] == 2
    assert found["effects"] == [
        {
            "name": "candidate over stable",
            "measure": "tokens per verify step",
            "gainPercent": "4.21",
            "lowerPercent": "1.10",
            "upperPercent": "7.31",
            "records": 900,
            "clusters": 240,
        }
    ]


@pytest.mark.parametrize(
    ("gain", "shown"),
    [
        pytest.param(-0.0000004, "0.00", id="zero-has-no-sign"),
        pytest.param(-0.031, "-3.10", id="worse"),
        pytest.param(math.nan, None, id="not-known"),
        pytest.param(math.inf, None, id="not-bounded"),
        pytest.param(-1e300, None, id="as-good-as-not-bounded"),
    ],
)
def test_a_percentage(gain: float, shown: str | None) -> None:
    (found,) = promotion_status(promotion(12, effects=(effect(gain=gain),)), generation=1)[
        "effects"
    ]

    assert found.get("gainPercent") == shown


def test_what_has_ended_says_how_and_when() -> None:
    found = promotion_status(ended(40, "RolledBack"), generation=1)

    assert (found["phase"], found["outcome"]) == ("Done", "RolledBack")
    assert (found["startedAt"], found["finishedAt"]) == (
        "2027-01-15T07:00:00Z",
        "2027-01-15T07:00:30Z",
    )


def test_engines_are_counted_while_it_is_open() -> None:
    counts = {"engines": 4, "candidate_engines": 2}

    going_on = promotion_status(promotion(12, "Rolling", **counts), generation=1)
    over = promotion_status(ended(12, "Promoted", **counts), generation=1)

    assert (going_on["engines"], going_on["candidateEngines"]) == (4, 2)
    assert not {"engines", "candidateEngines"} & over.keys()


@pytest.mark.parametrize(
    ("state", "word"),
    [
        (promotion(1, "Canary"), "Canary"),
        (promotion(1, "Canary", waits_for_approval=True), "WaitsForApproval"),
        (ended(1, "Promoted"), "Promoted"),
    ],
)
def test_one_word_says_how_far_it_is_and_the_object_says_the_same(state: Any, word: str) -> None:
    assert progress(state) == word
    assert shown_progress(promotion_status(state, generation=1)) == word


floats = st.floats(allow_nan=True, allow_infinity=True)


@given(
    effects=st.lists(
        st.builds(
            effect,
            name=st.text(max_size=400),
            gain=floats,
            lower=floats,
            upper=floats,
            num_records=st.integers(0, 1 << 60),
        ),
        max_size=80,
    ).map(tuple),
    breaches=st.lists(st.text(max_size=3000), max_size=20).map(tuple),
    breached_guards=st.lists(st.text(max_size=400), max_size=20).map(tuple),
    sentence=st.text(max_size=3000),
)
def test_whatever_was_measured_the_status_fits_its_schema(
    effects: tuple[EffectState, ...],
    breaches: tuple[str, ...],
    breached_guards: tuple[str, ...],
    sentence: str,
) -> None:
    judged = promotion(
        7, effects=effects, breaches=breaches, breached_guards=breached_guards, sentence=sentence
    )

    found = promotion_status(judged, generation=1)

    PromotionStatus.model_validate_json(json.dumps(found))
