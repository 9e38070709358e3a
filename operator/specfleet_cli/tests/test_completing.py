from __future__ import annotations

import os
import subprocess
import sys

import pytest

from specfleet_cli.completing import FILES, NO_FILES, completions
from specfleet_cli.tests.fake_fleet import MODULES

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, MODULES))}


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
