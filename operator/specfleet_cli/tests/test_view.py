"""What the terminal says about a fleet."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from specfleet_cli.plan import Kind
from specfleet_cli.supervising import Phase, ProcessState
from specfleet_cli.tests.fleets import planned
from specfleet_cli.view import COLUMNS, View, changes, headline, replaces, row
from specfleet_common.lineage import Lineage
from specfleet_common.wire.messages import FleetState
from specfleet_common.wire.testing import fleet_state, version, worker_state

STARTING = ProcessState("engine-main-0", Kind.ENGINE, Phase.STARTING, pid=7, starts=1, since=10.0)
LINEAGE = Lineage("t" * 64, "mtp", "mimo", "bfloat16", "s" * 64)
FOLLOWED = fleet_state(worker_state(), lineage=LINEAGE)


def test_a_row_shows_what_the_aggregator_knows_of_a_worker() -> None:
    todo = planned()
    view = View(now=0.0, fleet=fleet_state(worker_state()), acceptance={"main-0-abc": 2.345})

    cells = dict(zip(COLUMNS, row(todo.workers[0], view), strict=True))

    assert cells == {
        "worker": "main-0",
        "engine": "waiting",
        "agent": "waiting",
        "drafter": "stock",
        "swaps": "0",
        "acceptance": "2.35",
        "trainer": "training",
        "steps": "5 (65)",
        "positions/s": "420",
        "loss": "2.50 3.25",
    }


def test_a_starting_engine_shows_its_seconds_and_its_last_line() -> None:
    view = View(
        now=25.0,
        processes={STARTING.name: STARTING},
        last_lines={STARTING.name: "Loading weights"},
    )

    cells = row(planned().workers[0], view)

    assert cells[1] == "starting, 15 s Loading weights"


def test_the_headline_says_what_the_round_waits_for() -> None:
    view = View(now=0.0, fleet=fleet_state(deltas=1, quorum=2, store_error="disk full"))

    line = headline(planned(), view)

    assert line == ("fleet tiny: round 3, version 3 (00000003), 1 of 2 deltas, store: disk full")


def test_the_headline_says_why_newer_settings_are_not_in_force() -> None:
    view = View(now=0.0, fleet=fleet_state(settings_error="generation: is 1, expected 2"))

    line = headline(planned(), view)

    assert line.endswith(", settings: generation: is 1, expected 2")


def test_nothing_is_said_while_nothing_changes() -> None:
    view = View(now=0.0, processes={STARTING.name: STARTING}, fleet=fleet_state(worker_state()))

    lines = list(changes(planned(), view, replace(view, now=9.0)))

    assert lines == []


def test_starting_being_ready_and_ending_are_said() -> None:
    todo = planned()
    ready = replace(STARTING, phase=Phase.READY, since=41.0)
    gone = replace(ready, phase=Phase.RESTARTING, pid=None, reason="killed by signal 9")
    views = [View(now=0.0)] + [
        View(now=0.0, processes={STARTING.name: state}) for state in (STARTING, ready, gone)
    ]

    lines = [
        line for before, after in itertools.pairwise(views) for line in changes(todo, before, after)
    ]

    assert lines == [
        "engine-main-0: starting (pid 7, start 1)",
        "engine-main-0: ready after 31 s",
        "engine-main-0: killed by signal 9, starts again",
    ]


def test_an_engine_that_fails_to_start_shows_the_end_of_its_log() -> None:
    failed = replace(STARTING, phase=Phase.FAILED, reason="gone", tail=("Traceback", "Error: x"))

    lines = list(
        changes(planned(), View(now=0.0), View(now=1.0, processes={"engine-main-0": failed}))
    )

    assert lines == [
        "engine-main-0: failed: gone",
        "engine-main-0 | Traceback",
        "engine-main-0 | Error: x",
    ]


def test_an_engine_that_cannot_be_adapted_is_said_once_and_why() -> None:
    before = View(now=0.0, fleet=fleet_state())
    after = View(now=1.0, fleet=fleet_state(worker_state(engine_problem="LayoutError: packed")))

    lines = list(changes(planned(), before, after))
    later = list(changes(planned(), after, after))

    assert "engine-main-0 serves without being adapted: LayoutError: packed" in lines
    assert later == []


def test_new_versions_and_who_serves_them_are_said() -> None:
    before = View(now=0.0, fleet=fleet_state(worker_state(), base=version(2), round=2))
    now = worker_state(observed_digest=version(3).digest, held=version(3))
    after = View(now=1.0, fleet=fleet_state(now))

    lines = list(changes(planned(), before, after))

    assert lines == [
        "version 3 (00000003) is published, round 3 begins",
        "engine-main-0 serves version 3 (00000003)",
    ]


def test_another_lineage_has_published_nothing_now() -> None:
    before = View(now=0.0, fleet=fleet_state(base=version(9), lineage=LINEAGE))
    after = View(now=1.0, fleet=fleet_state(lineage=replace(LINEAGE, family="eagle")))

    lines = list(changes(planned(), before, after))

    assert lines == []


@pytest.mark.parametrize(
    ("known", "told", "shown"),
    [
        pytest.param(None, fleet_state(), True, id="the-first"),
        pytest.param(FOLLOWED, replace(FOLLOWED, lineage=None), True, id="another-with-workers"),
        pytest.param(FOLLOWED, fleet_state(), False, id="another-without-workers"),
        pytest.param(FOLLOWED, fleet_state(lineage=LINEAGE), True, id="the-same-without-workers"),
        pytest.param(fleet_state(lineage=LINEAGE), fleet_state(), True, id="no-workers-anywhere"),
    ],
)
def test_a_lineage_that_workers_follow_stays_in_view(
    known: FleetState | None, told: FleetState, shown: bool
) -> None:
    assert replaces(told, known) is shown


def test_local_weights_come_too_often_to_be_said() -> None:
    before = View(now=0.0, fleet=fleet_state(worker_state()))
    after = View(now=1.0, fleet=fleet_state(worker_state(observed_digest="local", swaps=1)))

    lines = list(changes(planned(), before, after))

    assert lines == []
