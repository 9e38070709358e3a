"""What a real API server and kubectl show of a fleet: columns, explanations, scale and status."""

from __future__ import annotations

import time

from e2e.cluster.commands import CommandFailed
from specfleet_common.api.testing import fleet_object
from specfleet_operator.tests.crds import CustomResources


def says(expected: str, api: CustomResources, *arguments: str) -> str:
    """Return what kubectl says once it says what is expected: kinds are published with a delay."""
    said, deadline = "", time.monotonic() + 60
    while expected not in said and time.monotonic() < deadline:
        try:
            said = api.plane.client.kubectl(*arguments)
        except CommandFailed as failure:
            said = str(failure)
    return said


def test_explaining_shows_descriptions_and_defaults(api: CustomResources) -> None:
    said = says("DESCRIPTION", api, "explain", "sfleet.spec.aggregation")

    assert "How local training becomes global versions." in said
    assert "Training steps of a worker in one round. Default: 100" in said


def test_the_columns_tell_how_a_fleet_is(api: CustomResources) -> None:
    document = fleet_object(metadata__name="columns")
    api.create(document)
    ready = {
        "type": "Ready",
        "status": "False",
        "reason": "StoreUnreachable",
        "message": "the store refuses the credentials",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    status = {
        "conditions": [ready],
        "engines": "3/4",
        "drafter": {"stable": "12-3f2a91c0"},
        "acceptanceLength": "2.4",
        "promotion": {"name": "columns-13-aaaaaaaaaaaa", "phase": "Canary", "reason": "Canary"},
    }
    api.write_status(document, status)

    head, row = says("columns", api, "get", "sfleet", "columns").splitlines()

    assert head.split() == [
        *("NAME", "READY", "REASON", "ENGINES", "DRAFTER", "ACCEPT", "PROMOTION", "AGE")
    ]
    assert row.split()[:-1] == [
        *("columns", "False", "StoreUnreachable", "3/4", "12-3f2a91c0", "2.4", "Canary")
    ]


def test_both_kinds_are_listed_by_category(api: CustomResources) -> None:
    document = fleet_object(metadata__name="listed")
    api.create(document)

    said = says("listed", api, "get", "specfleet", "-o", "name")

    assert "speculatorfleet.specfleet.dev/listed" in said.splitlines()


def test_scaling_to_zero_is_never_refused(api: CustomResources) -> None:
    document = fleet_object(
        metadata__name="scaled", spec__replicas=3, spec__aggregation__quorum={"minimum": 3}
    )
    api.create(document)
    status = {"replicas": 3, "selector": "specfleet.dev/cohort=main"}
    api.write_status(document, status)
    path = "/apis/specfleet.dev/v1alpha1/namespaces/default/speculatorfleets/scaled/scale"

    before = api.client.get(path).json()
    for replicas in (0, 2):
        says("scaled", api, "scale", "sfleet/scaled", f"--replicas={replicas}")
        assert api.client.get(path).json()["spec"].get("replicas", 0) == replicas

    assert before["status"] == {"replicas": 3, "selector": "specfleet.dev/cohort=main"}
    assert api.client.get(path.removesuffix("/scale")).json()["spec"]["replicas"] == 2


def test_nothing_of_a_whole_status_is_lost(api: CustomResources) -> None:
    document = fleet_object(metadata__name="reported")
    api.create(document)
    status = {
        "observedGeneration": 1,
        "conditions": [
            {
                "type": "Serving",
                "status": "True",
                "observedGeneration": 1,
                "lastTransitionTime": "2026-01-01T00:00:00Z",
                "reason": "EnginesReady",
                "message": "all engines are ready",
            }
        ],
        "replicas": 2,
        "readyReplicas": 1,
        "selector": "specfleet.dev/cohort=main",
        "engines": "1/2",
        "cohorts": [{"name": "main", "replicas": 2, "readyReplicas": 1, "updatedReplicas": 2}],
        "drafter": {"stable": "stock", "candidate": "1-aa", "lineage": "0123456789abcdef"},
        "aggregation": {"round": 2, "version": 1, "liveWorkers": 2, "trainingWorkers": 1},
        "promotion": {"name": "reported-1-aa", "phase": "Done", "reason": "Promoted"},
        "acceptanceLength": "2.1",
    }

    assert api.write_status(document, status) == status
