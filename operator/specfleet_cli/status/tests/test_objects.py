"""What is read from the object of a fleet."""

from __future__ import annotations

from typing import Any

from specfleet_cli.status.objects import promotion_name, report_of
from specfleet_cli.status.report import Cohort, Learning
from specfleet_common.api.testing import fleet_object

STATUS: dict[str, Any] = {
    "observedGeneration": 2,
    "conditions": [
        {
            "type": "Serving",
            "status": "True",
            "reason": "EnginesReady",
            "message": "All 3 engines are ready.",
        },
        {
            "type": "Ready",
            "status": "False",
            "reason": "StoreUnreachable",
            "message": "The store takes no new version: 403.",
            "lastTransitionTime": "2027-01-15T08:00:00Z",
        },
    ],
    "cohorts": [
        {
            "name": "main",
            "replicas": 2,
            "readyReplicas": 2,
            "updatedReplicas": 2,
            "adaptedReplicas": 1,
            "drafter": "12-0c0c0c0c",
            "acceptanceLength": "2.41",
        }
    ],
    "drafter": {"stable": "12-0c0c0c0c", "candidate": "20-14141414"},
    "aggregation": {
        "round": 21,
        "version": 20,
        "liveWorkers": 3,
        "trainingWorkers": 2,
        "losses": ["1.50", "2.00"],
    },
    "promotion": {"name": "tiny-20-141414141414", "phase": "Done", "reason": "Rejected"},
    "acceptanceLength": "2.30",
}


def fleet(status: Any = None, **changes: Any) -> dict[str, Any]:
    item = fleet_object(spec__replicas=2, **changes)
    item["metadata"] |= {"namespace": "ml", "generation": 2}
    return {**item, **({} if status is None else {"status": status})}


def test_ready_comes_first() -> None:
    found = report_of(fleet(STATUS), None)

    assert [one.type for one in found.conditions] == ["Ready", "Serving"]
    assert found.conditions[0].since == "2027-01-15T08:00:00Z"


def test_cohorts_are_those_of_the_spec_with_what_was_seen_of_them() -> None:
    found = report_of(fleet(STATUS, spec__cohorts=[{"name": "control", "serve": "Stock"}]), None)

    assert found.cohorts == (
        Cohort("main", "Stable", True, 2, 2, 1, "12-0c0c0c0c", 2.41),
        Cohort("control", "Stock", False, 1, 0, None, "", None),
    )


def test_learning_is_what_the_aggregator_told_the_operator() -> None:
    found = report_of(fleet(STATUS), None)

    assert found.learning == Learning(21, 20, 3, 2, (1.5, 2.0))
    assert (found.stable, found.candidate) == ("12-0c0c0c0c", "20-14141414")
    assert found.acceptance_length == 2.3


def test_a_promotion_that_cannot_be_read_is_known_by_name_and_end() -> None:
    item = fleet(STATUS)

    found = report_of(item, None).promotion

    assert found is not None
    assert (found.name, found.state.outcome) == (promotion_name(item), "Rejected")


def test_a_fleet_that_no_operator_has_seen_says_so() -> None:
    found = report_of(fleet(), None)

    assert found.summary is not None
    assert (found.summary.status, found.summary.reason) == ("Unknown", "NotReconciled")
    assert (found.learning, found.promotion) == (None, None)


def test_a_spec_that_is_newer_than_the_status_is_not_called_ready() -> None:
    ready = [{**STATUS["conditions"][1], "status": "True", "reason": "AsSpecified"}]

    found = report_of(fleet({"observedGeneration": 1, "conditions": ready}), None)

    assert [(one.status, one.reason) for one in found.conditions] == [("Unknown", "NotReconciled")]


def test_the_store_is_named_with_the_place_of_the_fleet_in_it() -> None:
    assert report_of(fleet(), None).store == "s3://fleets/ml/tiny at http://s3:9000"
