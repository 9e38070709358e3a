"""What the processes of a run on this machine amount to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from specfleet_cli.endpoints import Endpoint, Fleet, Worker
from specfleet_cli.status.of_run import Seen, report_of
from specfleet_common.store.location import DirectoryLocation
from specfleet_common.wire.messages import DrafterCounters, FleetState
from specfleet_common.wire.testing import fleet_state, trainer, version, worker_state

ENDPOINT = Endpoint("x", "http://127.0.0.1:1", 1, 1, "log")
MAIN = worker_state(
    worker_id="main-0-abc",
    held=version(3),
    observed_digest=version(3).digest,
    drafters=(DrafterCounters(version(3).digest, 200, (200, 200), (200, 100), 500, 1.0),),
)
CONTROL = worker_state(worker_id="control-0-abc", cohort="control", trains=False)


def worker(name: str, *, train: bool) -> Worker:
    cohort = name.partition("-")[0]
    return Worker(name, cohort, "Stable", train, f"{name}-abc", "shm", "state", ENDPOINT, ENDPOINT)


FLEET = Fleet(
    fleet="tiny",
    pid=1,
    served_model_name="tiny-mimo",
    store=DirectoryLocation(path=Path("/store")),
    aggregator_address="127.0.0.1:1",
    token_file="token",
    aggregator=ENDPOINT,
    workers=(worker("main-0", train=True), worker("control-0", train=False)),
)


def seen(*states: FleetState, answering: tuple[str, ...] = ("main-0", "control-0")) -> Seen:
    return Seen(FLEET, frozenset(answering), states, silence="" if states else "refused")


def test_a_run_that_is_as_it_should_be_is_ready() -> None:
    found = report_of(seen(fleet_state(MAIN, CONTROL)))

    assert [(one.type, one.status) for one in found.conditions] == [
        ("Ready", "True"),
        ("Serving", "True"),
        ("Training", "True"),
        ("Aggregating", "True"),
    ]


def test_cohorts_have_their_own_figures() -> None:
    main, control = report_of(seen(fleet_state(MAIN, CONTROL), answering=("main-0",))).cohorts

    assert (main.ready, main.adapted, main.drafter) == (1, 1, "3-00000003")
    assert main.acceptance_length == pytest.approx(2.5)
    assert (control.ready, control.adapted, control.drafter) == (0, 1, "stock")
    assert control.acceptance_length is None, "ten steps say nothing"


def test_learning_has_the_deltas_of_the_open_round() -> None:
    found = report_of(seen(fleet_state(MAIN, deltas=1, quorum=2))).learning

    assert found is not None
    assert (found.round, found.version, found.deltas, found.quorum) == (3, 3, 1, 2)
    assert found.losses == (2.5, 3.25)


PARKED = replace(MAIN, trainer=trainer("parked"))


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        pytest.param(seen(fleet_state(MAIN), answering=()), "Starting", id="engine"),
        pytest.param(seen(), "AggregatorUnreachable", id="aggregator"),
        pytest.param(seen(fleet_state(MAIN, store_error="full")), "StoreUnreachable", id="store"),
        pytest.param(seen(fleet_state(MAIN, settings_error="x")), "SettingsRefused", id="settings"),
        pytest.param(seen(fleet_state(PARKED)), "TrainerParked", id="parked"),
        pytest.param(seen(fleet_state(CONTROL)), "NoTrainerLive", id="no-trainer"),
        pytest.param(
            seen(fleet_state(replace(MAIN, observed_digest="mismatch"))),
            "DigestMismatch",
            id="mismatch",
        ),
        pytest.param(
            seen(fleet_state(replace(MAIN, engine_problem="no head"))),
            "EngineNotAdapted",
            id="not-adapted",
        ),
    ],
)
def test_what_is_wrong_is_the_reason_why_it_is_not_ready(what: Seen, reason: str) -> None:
    summary = report_of(what).summary

    assert summary is not None
    assert (summary.status, summary.reason) == ("False", reason)
