from __future__ import annotations

import pytest

from specfleet_operator.happenings import Happening, conditions_told


@pytest.mark.parametrize(
    ("kind", "status", "reason", "told"),
    [
        pytest.param("Serving", "True", "EnginesReady", ("Normal", "Serving"), id="holds"),
        pytest.param("Ready", "False", "Replacing", ("Normal", "Replacing"), id="on-its-way"),
        pytest.param(
            "Aggregating",
            "False",
            "AggregatorNotReady",
            ("Normal", "AggregatorNotReady"),
            id="aggregator-on-its-way",
        ),
        pytest.param(
            "Aggregating",
            "False",
            "StoreUnreachable",
            ("Warning", "StoreUnreachable"),
            id="trouble",
        ),
        pytest.param("Training", "Unknown", "NotConnected", None, id="unknown"),
    ],
)
def test_a_condition_is_told_by_its_name_while_it_holds_and_else_by_the_reason(
    kind: str, status: str, reason: str, told: tuple[str, str] | None
) -> None:
    condition = {"type": kind, "status": status, "reason": reason, "message": "Because."}

    found = conditions_told([condition])

    assert [(one.type, one.reason) for one in found] == ([] if told is None else [told])
    assert all(isinstance(one, Happening) and one.message == "Because." for one in found)
