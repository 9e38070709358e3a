from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from specfleet_cli.completing import FILES, NO_FILES, completions
from specfleet_cli.promotions.tests.runs import run_in
from specfleet_cli.tests.fake_fleet import MODULES

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, MODULES))}


def asked_by_bash(line: str) -> list[str]:
    asked = {
        "_SPECFLEET_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split()) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-m", "specfleet_cli"],
        env=ENVIRONMENT | asked,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        pytest.param(["sta"], ["status", NO_FILES], id="command"),
        pytest.param(["status", "--wat"], ["--watch", NO_FILES], id="option"),
        pytest.param(["plan", "--filename", ""], [FILES], id="file"),
    ],
)
def test_kubectl_is_told_what_can_follow(words: list[str], found: list[str]) -> None:
    assert completions(words, ENVIRONMENT) == found


def test_names_of_runs_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_in(tmp_path / "out" / "first")

    found = [asked_by_bash(f"specfleet status {beginning}") for beginning in ("t", "x")]

    assert found == [["tiny"], []]


def test_nothing_is_completed_where_nothing_can_be_asked(tmp_path: Path) -> None:
    kubeconfig = str(tmp_path / "none")

    assert completions(["status", "--kubeconfig", kubeconfig, ""], ENVIRONMENT) == [FILES]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_are_told_how_to_ask(shell: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "specfleet_cli"],
        env={**ENVIRONMENT, "_SPECFLEET_COMPLETE": f"source_{shell}"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert f"complete_{shell}" in done.stdout
    assert "specfleet" in done.stdout
