"""The command on runs of this machine, and its printing."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from specfleet_cli.app import app
from specfleet_cli.options import Output
from specfleet_cli.promotions.tests.runs import run_in, telling
from specfleet_cli.status.objects import report_of
from specfleet_cli.status.printing import Printer
from specfleet_cli.status.report import Report
from specfleet_cli.status.tests.test_objects import STATUS, fleet
from specfleet_common.wire.testing import fleet_state, worker_state

REPORT = report_of(fleet(STATUS), None)


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["status", *map(str, arguments)])


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    with telling(fleet_state(worker_state())) as address:
        yield run_in(tmp_path / "out" / "tiny", aggregator=address)


def test_the_only_run_is_shown_whole(run: Path) -> None:
    shown = call()

    assert shown.exit_code == 0, shown.stderr
    assert "round 3, version 3, 0 of 1 deltas" in shown.stdout
    assert "Aggregating   True" in shown.stdout


def test_a_fleet_asked_for_by_name_is_one_document_and_all_are_a_list(run: Path) -> None:
    one, all_of_them = call("tiny", "-o", "json"), call("-o", "json")

    assert [json.loads(one.stdout)] == json.loads(all_of_them.stdout)
    assert json.loads(one.stdout)["learning"]["round"] == 3


def test_several_runs_are_a_line_each(run: Path) -> None:
    run_in(run.parent / "other", aggregator="127.0.0.1:1")

    shown = call()

    assert len(shown.stdout.splitlines()) == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(("x",), "x: does not run here, expected one of tiny", id="unknown"),
        pytest.param(("--directory", "x"), "x: no fleet runs there", id="directory"),
        pytest.param(
            ("--directory", "out/tiny", "--context", "x"), "expected only one of the two", id="both"
        ),
    ],
)
def test_a_mistake_ends_the_command_with_a_sentence(
    run: Path, arguments: tuple[str, ...], words: str
) -> None:
    ended = call(*arguments)

    assert ended.exit_code == 2
    assert words in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_watching_prints_only_what_is_new() -> None:
    looks = iter([(REPORT,), (REPORT,), (replace(REPORT, stable="20-14141414"),)])
    file = io.StringIO()
    printer = Printer(Console(file=file), Output.JSON, is_one=True)

    with pytest.raises(StopIteration):
        printer.follow(lambda: next(looks), pause=lambda: None)

    assert file.getvalue().count('"name": "main"') == 2


def test_a_terminal_is_drawn_anew() -> None:
    looks: Iterator[tuple[Report, ...]] = iter([(REPORT,), (replace(REPORT, stable="x"),)])
    file = io.StringIO()
    printer = Printer(Console(file=file, force_terminal=True), Output.TABLE, is_one=True)

    with pytest.raises(StopIteration):
        printer.follow(lambda: next(looks), pause=lambda: None)

    assert "stable is 12-0c0c0c0c" in file.getvalue()
    assert "stable is x" in file.getvalue()
