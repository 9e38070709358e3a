"""What the view of a running fleet says about candidates."""

from __future__ import annotations

import io
import itertools
from dataclasses import replace

from rich.console import Console

from specfleet_cli.promotion_view import promotion_changes, promotion_line
from specfleet_cli.terminal import Terminal
from specfleet_cli.tests.fleets import planned
from specfleet_cli.view import View, changes
from specfleet_common.wire.messages import EffectState, PromotionState
from specfleet_common.wire.testing import fleet_state, version, worker_state

EFFECT = EffectState("candidate over stable", "tokens per verify step", 0.031, 0.012, 0.05, 80, 60)
OPEN = PromotionState(
    id="12-000000000000",
    number=12,
    digest=version(12).digest,
    phase="Canary",
    outcome="",
    sentence="Undecided.",
    started_at=1.0,
    effects=(EFFECT,),
)
DONE = replace(OPEN, phase="Done", outcome="Promoted", sentence="All live engines run it.")
ENGINES = {"main-0-abc": "engine-main-0"}
RUNS_IT = worker_state(observed_digest=version(12).digest)


def test_the_open_promotion_has_a_line() -> None:
    line = promotion_line(fleet_state(RUNS_IT, promotions=(OPEN,)), ENGINES)

    assert line == (
        "promotion 12-000000000000: Canary, +3.10 % (+1.20 % to +5.00 %) tokens per verify step, "
        "run by engine-main-0. Undecided."
    )


def test_a_promotion_that_nothing_is_known_of_has_a_short_line() -> None:
    pending = replace(OPEN, phase="Pending", effects=(), sentence="")

    line = promotion_line(fleet_state(worker_state(), promotions=(pending,)), ENGINES)

    assert line == "promotion 12-000000000000: Pending, run by no engine."


def test_an_engine_that_is_gone_runs_nothing() -> None:
    gone = replace(RUNS_IT, live=False)

    assert "run by no engine" in promotion_line(fleet_state(gone, promotions=(OPEN,)), ENGINES)


def test_what_has_ended_has_no_line() -> None:
    assert promotion_line(fleet_state(promotions=(DONE,)), ENGINES) == ""
    assert promotion_line(None, ENGINES) == ""


def test_every_phase_is_said_once() -> None:
    states = [
        fleet_state(),
        fleet_state(promotions=(replace(OPEN, phase="Pending"),)),
        fleet_state(promotions=(OPEN,)),
        fleet_state(promotions=(replace(OPEN, sentence="Still undecided."),)),
        fleet_state(promotions=(replace(OPEN, waits_for_approval=True),)),
        fleet_state(promotions=(DONE,)),
    ]

    lines = [
        line
        for before, after in itertools.pairwise(states)
        for line in promotion_changes(before, after)
    ]

    assert lines == [
        "promotion 12-000000000000: Pending. Undecided.",
        "promotion 12-000000000000: Canary. Undecided.",
        "promotion 12-000000000000: Canary, waits for approval. Undecided.",
        "promotion 12-000000000000: Promoted. All live engines run it.",
    ]


def test_an_engine_that_takes_up_the_candidate_is_said_by_its_number() -> None:
    before = View(now=0.0, fleet=fleet_state(worker_state(), promotions=(OPEN,)))
    after = View(now=1.0, fleet=fleet_state(RUNS_IT, promotions=(OPEN,), candidate=version(12)))

    assert list(changes(planned(), before, after)) == ["engine-main-0 serves version 12 (00000012)"]


def test_the_terminal_shows_the_line_with_whatever_brackets_it_has() -> None:
    view = View(
        now=100.0,
        fleet=fleet_state(promotions=(replace(OPEN, sentence="[bold]Undecided[/]."),)),
    )
    on_terminal, in_file = io.StringIO(), io.StringIO()

    for output, is_terminal in ((on_terminal, True), (in_file, False)):
        console = Console(file=output, force_terminal=is_terminal, width=200)
        with Terminal(console, planned(), clock=lambda: 0.0) as terminal:
            terminal.show(view)

    assert "[bold]Undecided[/]." in on_terminal.getvalue()
    assert "[bold]Undecided[/]." in in_file.getvalue()
