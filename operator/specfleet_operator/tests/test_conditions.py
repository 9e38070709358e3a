"""What a fleet says about itself."""

from __future__ import annotations

from typing import Any

import pytest

from specfleet_common.wire.testing import trainer
from specfleet_operator.aggregation import Aggregation, aggregation
from specfleet_operator.cohorts import Cohort
from specfleet_operator.conditions import (
    AGGREGATING,
    SERVING,
    SPEC_VALID,
    TRAINING,
    Verdict,
    aggregating,
    ready,
    serving,
    spec_valid,
    training,
)
from specfleet_operator.observed import AggregatorView
from specfleet_operator.pods import Pod, Trouble
from specfleet_operator.reading import Problem
from specfleet_operator.tests.building import NOW, silent, state, view, worker
from specfleet_operator.tests.building import pod as any_pod

NO_GPU = Trouble("Unschedulable", "0/1 nodes are available: 1 Insufficient nvidia.com/gpu")
FINE = {
    SPEC_VALID: Verdict("True", "Valid", ""),
    SERVING: Verdict("True", "EnginesReady", ""),
    TRAINING: Verdict("True", "TrainersLive", ""),
    AGGREGATING: Verdict("True", "RoundOpen", ""),
}


def pod(ordinal: int, **changes: Any) -> Pod:
    return any_pod(f"main-{ordinal}", **changes)


def cohort(*pods: Pod, wanted: int | None = None, is_current: bool = True) -> Cohort:
    """Return a cohort that has as many pods as it should, unless `wanted` says otherwise."""
    number = len(pods) if wanted is None else wanted
    return Cohort("main", number, pods, "new", is_current)


def heard(*workers: Any, **changes: Any) -> Aggregation:
    """Return what is known after the aggregator has spoken."""
    return aggregation(view(state(*workers, **changes)), NOW)


def asked(seen: AggregatorView | None) -> Aggregation:
    return aggregation(seen, NOW)


def test_a_wrong_spec_is_told_with_its_field() -> None:
    problem = Problem("Invalid", "spec.replicas: is -1, expected more")

    assert spec_valid(problem) == Verdict("False", "Invalid", problem.message)


@pytest.mark.parametrize(
    ("cohorts", "verdict"),
    [
        pytest.param(
            [cohort(pod(0), pod(1))],
            Verdict("True", "EnginesReady", "All 2 engines are ready."),
            id="all",
        ),
        pytest.param(
            [cohort(pod(0), pod(1, ready=False, trouble=NO_GPU))],
            Verdict(
                "True",
                "SomeEnginesReady",
                "1 of 2 engines are ready. main-1: 0/1 nodes are available: 1 Insufficient"
                " nvidia.com/gpu.",
            ),
            id="some",
        ),
        pytest.param(
            [cohort(pod(0, ready=False, trouble=NO_GPU))],
            Verdict(
                "False",
                "Unschedulable",
                "main-0: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu.",
            ),
            id="no-gpu",
        ),
        pytest.param(
            [cohort(pod(0, ready=False))],
            Verdict("False", "Starting", "0 of 1 engines are ready, waiting for main-0."),
            id="starting",
        ),
        pytest.param(
            [cohort(wanted=2)],
            Verdict(
                "False",
                "PodsMissing",
                "0 of 2 pods of the cohort 'main' exist; if it stays so, the events of its"
                " StatefulSet say why.",
            ),
            id="no-pods",
        ),
        pytest.param(
            [cohort()],
            Verdict("False", "ScaledToZero", "All cohorts have 0 replicas."),
            id="zero",
        ),
    ],
)
def test_serving(cohorts: list[Cohort], verdict: Verdict) -> None:
    assert serving(cohorts) == verdict


@pytest.mark.parametrize(
    ("learning", "wanted", "status", "reason"),
    [
        pytest.param(heard(worker("main-0")), 1, "True", "TrainersLive", id="trains"),
        pytest.param(heard(worker("main-0")), 2, "True", "SomeTrainersLive", id="one-of-two"),
        pytest.param(heard(), 1, "False", "NoTrainerLive", id="none"),
        pytest.param(
            heard(worker("main-0", live=False)), 1, "False", "NoTrainerLive", id="lease-ended"
        ),
        pytest.param(
            heard(worker("main-0", trains=False)), 1, "False", "NoTrainerLive", id="trains-not"
        ),
        pytest.param(
            heard(worker("main-0", trainer=trainer("parked"))),
            1,
            "False",
            "TrainerParked",
            id="parked",
        ),
        pytest.param(asked(silent(seconds=99)), 1, "Unknown", "AggregatorUnreachable", id="mute"),
        pytest.param(asked(None), 1, "Unknown", "NotConnected", id="never-asked"),
    ],
)
def test_training(learning: Aggregation, wanted: int, status: str, reason: str) -> None:
    found = training([cohort(pod(0))], learning, wanted=wanted)

    assert found is not None
    assert (found.status, found.reason) == (status, reason)


def test_training_does_not_apply_where_no_engine_trains() -> None:
    assert training([cohort(pod(0))], heard(worker("main-0", trains=False)), wanted=0) is None


def test_a_worker_of_no_lineage_counts_once_though_it_is_in_the_state_of_each() -> None:
    stranger = worker("u-1", engine_problem="OSError: no room")

    known = aggregation(view(state(worker("u-2"), stranger), state(stranger)), NOW)

    assert sorted(one.worker_id for one in known.workers) == ["u-1", "u-2"]


def test_an_engine_that_cannot_be_adapted_is_named_with_its_reason() -> None:
    broken = worker("u-1", engine_problem="OSError: raise spec.engine.sharedMemory")
    learning = heard(broken, worker("u-2"))

    found = training([cohort(pod(0, uid="u-1"), pod(1, uid="u-2"))], learning, wanted=2)

    assert found is not None
    assert (found.status, found.reason) == ("False", "EngineNotAdapted")
    assert found.message.startswith("main-0 serves")
    assert found.message.endswith("main-0 says: OSError: raise spec.engine.sharedMemory.")


def test_a_parked_trainer_is_named_by_its_pod() -> None:
    learning = heard(worker("u-1", trainer=trainer("parked")), worker("u-2"))

    found = training([cohort(pod(0, uid="u-1"), pod(1, uid="u-2"))], learning, wanted=2)

    assert found is not None
    assert found.message.startswith("The trainer of main-0 failed too often")


@pytest.mark.parametrize(
    ("learning", "num_training", "status", "reason"),
    [
        pytest.param(heard(worker("a")), 2, "True", "RoundOpen", id="goes-on"),
        pytest.param(heard(), 0, "True", "Idle", id="nothing-trains"),
        pytest.param(heard(store_error="403"), 2, "False", "StoreUnreachable", id="store"),
        pytest.param(heard(settings_error="no"), 2, "False", "SettingsRefused", id="settings"),
        pytest.param(heard(), 1, "False", "QuorumUnreachable", id="too-few"),
        pytest.param(asked(silent(seconds=99)), 2, "False", "AggregatorUnreachable", id="mute"),
        pytest.param(asked(silent(seconds=1)), 2, "Unknown", "NotConnected", id="mute-for-now"),
    ],
)
def test_aggregating(learning: Aggregation, num_training: int, status: str, reason: str) -> None:
    found = aggregating(None, learning, training=num_training, minimum=2)

    assert (found.status, found.reason) == (status, reason)


def test_an_aggregator_whose_pod_is_not_ready_is_not_called_unreachable() -> None:
    starting = any_pod("demo-aggregator-0", ready=False)

    found = aggregating(starting, asked(silent(seconds=99)), training=1, minimum=1)

    assert (found.status, found.reason) == ("False", "AggregatorNotReady")
    assert found.message.startswith("The pod demo-aggregator-0 is not ready;")


def test_silence_is_told_with_its_cause_and_since_when() -> None:
    found = aggregating(None, asked(silent(seconds=100)), training=1, minimum=1)

    assert found.message == (
        "The aggregator cannot be reached since 2027-01-15T07:58:20Z: connection refused."
    )


def test_the_kubelets_reason_comes_before_what_follows_from_it() -> None:
    missing = Trouble("CreateContainerConfigError", 'container aggregator waits: no secret "s3"')
    broken = any_pod("aggregator-0", ready=False, trouble=missing)

    found = aggregating(broken, asked(silent(seconds=100)), training=1, minimum=1)

    assert (found.status, found.reason) == ("False", "CreateContainerConfigError")


def test_a_store_that_is_unreachable_in_one_lineage_is_unreachable() -> None:
    seen = view(state(live_workers=5), state(store_error="no bucket"))

    found = aggregating(None, asked(seen), training=1, minimum=1)

    assert found.reason == "StoreUnreachable"


@pytest.mark.parametrize(
    ("verdicts", "cohorts", "learning", "reason"),
    [
        pytest.param({}, [cohort(pod(0))], heard(worker("main-0")), "AsSpecified", id="ready"),
        pytest.param(
            {SPEC_VALID: Verdict("False", "Invalid", "")},
            [cohort(pod(0))],
            heard(),
            "Invalid",
            id="invalid",
        ),
        pytest.param({}, [cohort()], heard(), "ScaledToZero", id="zero"),
        pytest.param({}, [cohort(pod(0), wanted=2)], heard(), "PodsMissing", id="missing"),
        pytest.param(
            {},
            [cohort(pod(0, ready=False, trouble=NO_GPU))],
            heard(),
            "Unschedulable",
            id="trouble",
        ),
        pytest.param(
            {}, [cohort(pod(0), pod(1, revision="old"))], heard(), "Replacing", id="old-pod"
        ),
        pytest.param(
            {}, [cohort(pod(0), is_current=False)], heard(), "Changing", id="old-statefulset"
        ),
        pytest.param({}, [cohort(pod(0, ready=False))], heard(), "Starting", id="starting"),
        pytest.param(
            {},
            [cohort(pod(0))],
            heard(worker("main-0", observed_digest="mismatch")),
            "DigestMismatch",
            id="wrong-weights",
        ),
        pytest.param(
            {AGGREGATING: Verdict("False", "StoreUnreachable", "")},
            [cohort(pod(0))],
            heard(),
            "StoreUnreachable",
            id="store",
        ),
        pytest.param(
            {TRAINING: Verdict("Unknown", "NotConnected", "")},
            [cohort(pod(0))],
            heard(),
            "NotConnected",
            id="unknown",
        ),
        pytest.param(
            {}, [cohort(pod(0))], heard(settings_generation=3), "SettingsPending", id="settings"
        ),
    ],
)
def test_ready(
    verdicts: dict[str, Verdict], cohorts: list[Cohort], learning: Aggregation, reason: str
) -> None:
    generation = 4 if reason == "SettingsPending" else 1

    found = ready({**FINE, **verdicts}, cohorts, learning, generation=generation)

    assert found.reason == reason
    assert found.status == ("True" if reason == "AsSpecified" else "False")


def test_an_engine_that_serves_only_and_cannot_be_adapted_is_not_ready() -> None:
    learning = heard(worker("u-0", trains=False, engine_problem="LayoutError: packed"))

    found = ready(FINE, [cohort(pod(0))], learning, generation=1)

    assert (found.status, found.reason) == ("False", "EngineNotAdapted")


def test_ready_needs_no_condition_that_does_not_apply() -> None:
    verdicts = {kind: verdict for kind, verdict in FINE.items() if kind != TRAINING}

    found = ready(verdicts, [cohort(pod(0))], heard(), generation=1)

    assert found.status == "True"
