"""The commands, as users call them, on local runs and on stores."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from specfleet_cli.app import app
from specfleet_cli.promotions.settings import read_settings
from specfleet_cli.promotions.tests.lineages import (
    FakeLineage,
    promoted,
    rejected,
    too_slow,
    waiting,
    withdrawn,
)
from specfleet_cli.promotions.tests.runs import run_in, telling
from specfleet_cli.tests.fake_fleet import MODULES
from specfleet_common.store.directory import DirectoryStore
from specfleet_common.wire.messages import PromotionState
from specfleet_common.wire.testing import fleet_state


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments])


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return run_in(tmp_path / "out" / "tiny")


@pytest.fixture
def lineage(run: Path) -> FakeLineage:
    return FakeLineage(DirectoryStore(run / "store"))


def manual(run: Path) -> Path:
    return run_in(run, promotion={"mode": "Manual"})


def test_the_table_has_a_line_for_every_promotion(run: Path, lineage: FakeLineage) -> None:
    withdrawn(lineage, 12)
    rejected(lineage, 20)
    too_slow(lineage, 30)

    ended = call("promotions", "--directory", run)

    assert ended.exit_code == 0, ended.stderr
    heading, *lines = ended.stdout.splitlines()
    assert heading.split() == ["NAME", "PHASE", "OUTCOME", "GAIN", "WHEN", "SENTENCE"]
    assert [line.split()[:3] for line in lines] == [
        ["30-1e1e1e1e1e1e", "Done", "Rejected"],
        ["20-141414141414", "Done", "Rejected"],
        ["12-0c0c0c0c0c0c", "Done", "RolledBack"],
    ]
    assert lines[0].endswith("Guard: time per output token rose by +100.00 %, allowed is +5.00 %.")


def test_the_only_run_below_out_is_the_default(
    run: Path, lineage: FakeLineage, monkeypatch: pytest.MonkeyPatch
) -> None:
    rejected(lineage, 20)
    monkeypatch.chdir(run.parents[1])

    ended = call("promotions")

    assert "20-141414141414" in ended.stdout


def test_a_store_needs_no_run(run: Path, lineage: FakeLineage) -> None:
    rejected(lineage, 20)
    (run / "fleet.json").unlink()

    ended = call("promotions", "--store", run / "store", "-o", "json")

    assert [one["name"] for one in json.loads(ended.stdout)] == ["20-141414141414"]


def test_a_store_without_candidates_says_so(run: Path, lineage: FakeLineage) -> None:
    ended = call("promotions", "--store", run / "store")

    assert ended.stdout == "No version has been a candidate yet.\n"


def test_one_promotion_is_shown_with_all_its_decisions(run: Path, lineage: FakeLineage) -> None:
    opened = promoted(lineage)

    shown = call("promotions", opened.promotion, "--directory", run)
    document = call("promotions", opened.promotion, "--directory", run, "--output", "yaml")

    assert "outcome    Promoted" in shown.stdout
    assert "Enters Canary: Passed: candidate over stable" in shown.stdout
    assert [one["what"] for one in yaml.safe_load(document.stdout)["decided"]] == [
        "Opened",
        "Enters Replay",
        "Enters Canary",
        "Enters Rolling",
        "Promoted",
    ]


def test_what_is_open_is_shown_as_the_aggregator_tells(run: Path, lineage: FakeLineage) -> None:
    opened = lineage.opens()
    told = PromotionState(
        opened.promotion, 12, opened.digest, "Replay", "", "As told.", opened.at, engines=4
    )
    other = fleet_state()

    with telling(other, fleet_state(promotions=(told,))) as address:
        run_in(run, aggregator=address)
        ended = call("promotions", "--directory", run)

    assert ended.stdout.splitlines()[1].endswith("As told.")
    assert ended.stderr == ""


def test_a_silent_aggregator_is_said(run: Path, lineage: FakeLineage) -> None:
    opened = lineage.opens()

    ended = call("promotions", "--directory", run)

    assert opened.promotion in ended.stdout
    assert "what is open is shown as the store has it" in ended.stderr


def test_an_approval_is_in_the_settings_and_the_next_step_is_said(
    run: Path, lineage: FakeLineage
) -> None:
    opened = waiting(lineage)
    manual(run)

    ended = call("approve", opened.promotion, "--directory", run)

    assert ended.exit_code == 0, ended.stderr
    assert read_settings(run / "settings.json").decisions == {opened.promotion: "Approve"}
    assert "is approved: the candidate now goes to all engines" in ended.stdout
    assert f"specfleet promotions {opened.promotion} --directory {run}" in ended.stdout


def test_what_was_approved_can_be_aborted_and_not_approved_again(
    run: Path, lineage: FakeLineage
) -> None:
    opened = waiting(lineage)
    manual(run)

    codes = [
        call(command, opened.promotion, "--directory", run).exit_code
        for command in ("approve", "abort", "abort", "approve")
    ]

    assert codes == [0, 0, 0, 2]
    assert read_settings(run / "settings.json").decisions == {opened.promotion: "Abort"}


def test_a_decision_changes_nothing_else_and_forgets_what_has_ended(
    run: Path, lineage: FakeLineage
) -> None:
    ended, opened = rejected(lineage, 20), lineage.opens(30)
    run_in(run, local_steps=77, decisions={ended.promotion: "Abort"})

    call("abort", opened.promotion, "--directory", run)

    settings = read_settings(run / "settings.json")
    assert settings.local_steps == 77
    assert settings.decisions == {opened.promotion: "Abort"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(("approve", "9-x"), "9-x: is no promotion here", id="unknown"),
        pytest.param(("approve", "30-1e1e1e1e1e1e"), "mode is Automatic", id="automatic"),
        pytest.param(("abort", "20-141414141414"), "has ended, Rejected", id="ended"),
        pytest.param(("promotions", "9-x"), "9-x: is no promotion here", id="unknown-details"),
        pytest.param(("rejudge", "9-x"), "9-x: is no promotion here", id="unknown-rejudge"),
        pytest.param(("promotions", "--plot", "a.svg"), "expected its NAME", id="plot-of-all"),
        pytest.param(
            ("promotions", "20-141414141414", "--plot", "a.pdf"),
            "a.pdf has no known ending, expected .svg, .png, .html",
            id="plot-format",
        ),
        pytest.param(
            ("promotions", "20-141414141414", "--plot", "no/where/a.svg"),
            "no/where/a.svg cannot be written",
            id="plot-place",
        ),
        pytest.param(
            ("promotions", "--namespace", "x"), "expected only one of the two", id="two-places"
        ),
        pytest.param(("promotions", "--store", "."), "expected only one of", id="two-stores"),
    ],
)
def test_a_mistake_ends_a_command_with_a_sentence(
    run: Path, lineage: FakeLineage, arguments: tuple[str, ...], words: str
) -> None:
    rejected(lineage, 20)
    lineage.opens(30)

    ended = call(*arguments, "--directory", run)

    assert ended.exit_code == 2
    assert words in ended.stderr
    assert ended.stdout == ""
    assert len(ended.stderr.splitlines()) == 1


def test_a_store_that_is_damaged_ends_a_command_with_a_sentence(
    run: Path, lineage: FakeLineage
) -> None:
    rejected(lineage, 20)
    next(run.glob("store/*/promotions/*/evidence/*.json")).write_text("{}")

    ended = call("rejudge", "20-141414141414", "--directory", run)

    assert ended.exit_code == 2
    assert "expected that of its name" in ended.stderr


def test_rejudging_says_both_sentences_and_whether_they_are_the_same(
    run: Path, lineage: FakeLineage
) -> None:
    rejected(lineage, 20)
    (verdict,) = run.glob("store/*/promotions/*/verdict-*.json")

    same = call("rejudge", "20-141414141414", "--directory", run)
    verdict.write_text(verdict.read_text().replace("Harmful: ", "Delightful: "))
    different = call("rejudge", "20-141414141414", "--store", run / "store")

    assert same.exit_code == 0
    assert same.stdout.startswith("Replay: 100 records, the same\n  stored      Harmful: ")
    assert different.exit_code == 1
    assert "differs in judgement" in different.stdout
    assert "  stored      Delightful: " in different.stdout
    assert "  recomputed  Harmful: " in different.stdout


@pytest.mark.parametrize("kind", ["svg", "png", "html"])
def test_the_evidence_is_drawn(run: Path, lineage: FakeLineage, kind: str) -> None:
    too_slow(lineage, 30)
    path = run / f"a.{kind}"

    ended = call("promotions", "30-1e1e1e1e1e1e", "--directory", run, "--plot", path)

    assert ended.exit_code == 0, ended.stderr
    assert ended.stdout.startswith(f"{path}: Replay: candidate over stable, Canary")
    beginning = {"svg": b"<svg", "png": b"\x89PNG", "html": b"<!doctype html>"}[kind]
    assert path.read_bytes().startswith(beginning)
    if kind == "html":
        assert "time per output token rose by +100.00 %" in path.read_text()


def test_as_a_plugin_of_kubectl_the_cluster_is_the_default(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, MODULES)),
        "KUBECONFIG": str(tmp_path / "nothing"),
    }
    plugin = "from specfleet_cli.__main__ import kubectl; kubectl()"

    ended = subprocess.run(
        [sys.executable, "-c", plugin, "promotions"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 2
    assert ended.stderr.startswith("kubeconfig: ")
    assert len(ended.stderr.splitlines()) == 1
