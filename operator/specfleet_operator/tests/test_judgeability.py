"""Whether a fleet's candidates can be judged, as far as the fleet's state tells."""

from __future__ import annotations

from typing import Any

import pytest

from specfleet_common.wire.messages import PromotionState
from specfleet_operator.aggregation import Aggregation, aggregation
from specfleet_operator.judgeability import EVIDENCE_SECONDS, judgeable, seconds_to_evidence
from specfleet_operator.tests.building import (
    CONTROL,
    LINEAGE,
    NOW,
    ended,
    promotion,
    silent,
    state,
    subject,
    view,
)

SPEC = subject().fleet.spec


def heard(*promotions: PromotionState) -> Aggregation:
    return aggregation(view(state(lineage=LINEAGE, promotions=promotions)), NOW)


def pending(number: int, *, seconds: float) -> PromotionState:
    return promotion(number, "Pending", started_at=NOW - seconds)


@pytest.mark.parametrize(
    ("learning", "status", "reason", "words"),
    [
        pytest.param(heard(), "True", "NothingMissing", "No version is", id="none-yet"),
        pytest.param(heard(ended(7)), "True", "NothingMissing", "No version is", id="none-open"),
        pytest.param(
            heard(promotion(12)), "True", "NothingMissing", "Version 12 is under", id="evidence"
        ),
        pytest.param(
            heard(pending(12, seconds=1)), "True", "NothingMissing", "Version 12", id="just-opened"
        ),
        pytest.param(
            heard(pending(12, seconds=EVIDENCE_SECONDS)),
            "False",
            "NoEvidence",
            "Version 12: no trainer has walked a request yet",
            id="no-evidence",
        ),
        pytest.param(
            heard(pending(12, seconds=1), ended(7, "Superseded")),
            "False",
            "NoEvidence",
            "Version 12",
            id="the-next-one-without-evidence",
        ),
        pytest.param(
            heard(promotion(12, "Canary")),
            "False",
            "NoStableEngine",
            "Version 12: no live engine serves Stable",
            id="no-engine-to-try-it-on",
        ),
        pytest.param(
            heard(promotion(12, "Canary", engines=1)),
            "True",
            "NothingMissing",
            "Version 12 is under",
            id="canary",
        ),
        pytest.param(
            heard(ended(7, "Inconclusive", sentence="too little traffic")),
            "False",
            "Inconclusive",
            "Version 7: too little traffic",
            id="inconclusive",
        ),
        pytest.param(
            aggregation(silent(seconds=99), NOW),
            "Unknown",
            "AggregatorUnreachable",
            "candidates",
            id="mute",
        ),
        pytest.param(aggregation(None, NOW), "Unknown", "NotConnected", "", id="never-asked"),
    ],
)
def test_judgeable(learning: Aggregation, status: str, reason: str, words: str) -> None:
    found = judgeable(SPEC, learning, NOW)

    assert found is not None
    assert (found.status, found.reason) == (status, reason)
    assert words in found.message


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"promotion__mode": "Paused"}, id="paused"),
        pytest.param({"promotion__pin": 0}, id="pinned"),
        pytest.param({"train": False}, id="nothing-trains"),
        pytest.param({"serve": "Local"}, id="nothing-serves-stable"),
        pytest.param({"replicas": 0, "cohorts": [CONTROL]}, id="scaled-to-zero"),
    ],
)
def test_it_does_not_apply_where_nothing_is_judged(changes: dict[str, Any]) -> None:
    assert judgeable(subject(**changes).fleet.spec, heard(promotion(12)), NOW) is None


def test_without_held_out_conversations_there_is_never_evidence() -> None:
    found = judgeable(subject(trainer__capture__holdoutPercent=0).fleet.spec, heard(), NOW)

    assert found is not None
    assert (found.status, found.reason) == ("False", "NothingHeldOut")
    assert found.message.startswith("spec.trainer.capture.holdoutPercent is 0")


def test_it_does_not_apply_while_the_spec_says_nothing() -> None:
    assert judgeable(None, heard(promotion(12)), NOW) is None


@pytest.mark.parametrize(
    ("learning", "seconds"),
    [
        pytest.param(heard(pending(12, seconds=20)), EVIDENCE_SECONDS - 20, id="waiting"),
        pytest.param(heard(pending(12, seconds=EVIDENCE_SECONDS)), None, id="late"),
        pytest.param(heard(promotion(12)), None, id="evidence"),
        pytest.param(heard(), None, id="none"),
        pytest.param(aggregation(None, NOW), None, id="never-asked"),
    ],
)
def test_the_fleet_is_looked_at_again_when_evidence_is_late(
    learning: Aggregation, seconds: float | None
) -> None:
    assert seconds_to_evidence(learning, NOW) == seconds
