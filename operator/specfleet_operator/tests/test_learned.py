"""What a status says of learning, and how seldom it is written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from specfleet_common.wire.messages import WorkerState
from specfleet_common.wire.testing import trainer, version
from specfleet_operator.aggregation import Aggregation, aggregation
from specfleet_operator.learned import of_cohort, of_fleet
from specfleet_operator.tests.building import NOW, silent, state, view, worker

MAIN = worker("main-0", held=version(3), observed_digest=version(3).digest)
CONTROL = worker("control-0", cohort="control", trains=False)


def heard(*workers: WorkerState) -> Aggregation:
    return aggregation(view(state(*workers)), NOW)


def with_losses(*losses: float) -> WorkerState:
    return replace(MAIN, trainer=replace(trainer("training"), loss=losses))


def losses(old: dict[str, Any], *now: float) -> Any:
    return of_fleet(old, heard(with_losses(*now)), fleet="demo")["aggregation"].get("losses")


def test_a_cohort_has_the_drafter_and_the_count_of_its_own_engines() -> None:
    known = heard(MAIN, CONTROL)

    assert of_cohort({}, known, cohort="main") == {"adaptedReplicas": 1, "drafter": "3-00000003"}
    assert of_cohort({}, known, cohort="control") == {"adaptedReplicas": 1, "drafter": "stock"}
    assert of_cohort({}, known, cohort="new") == {"adaptedReplicas": 0}


def test_an_engine_that_cannot_be_adapted_does_not_count() -> None:
    known = heard(replace(MAIN, engine_problem="no head"))

    assert of_cohort({}, known, cohort="main") == {"adaptedReplicas": 0}


def test_what_was_known_of_a_cohort_stays_while_the_aggregator_is_silent() -> None:
    old = {"adaptedReplicas": 2, "drafter": "stock", "acceptanceLength": "2.00", "replicas": 2}

    found = of_cohort(old, aggregation(silent(seconds=99), NOW), cohort="main")

    assert found == {"adaptedReplicas": 2, "drafter": "stock", "acceptanceLength": "2.00"}


@pytest.mark.parametrize(
    ("now", "written"),
    [
        pytest.param((2.04, 3.1), ["2.00", "3.00"], id="little"),
        pytest.param((1.8, 3.0), ["1.80", "3.00"], id="enough"),
        pytest.param((), ["2.00", "3.00"], id="trainer-starts-again"),
        pytest.param((2.0, 3.0, 4.0), ["2.00", "3.00", "4.00"], id="another-depth"),
    ],
)
def test_losses_that_move_little_are_not_written_again(
    now: tuple[float, ...], written: list[str]
) -> None:
    assert losses({"aggregation": {"losses": ["2.00", "3.00"]}}, *now) == written


def test_without_any_step_there_is_no_loss() -> None:
    assert losses({}) is None
