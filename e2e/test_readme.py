"""The commands of the README do what it says."""

from __future__ import annotations

import asyncio
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.engines import ROOT
from e2e.fleets import ready
from specfleet_cli.endpoints import FILE_NAME

STOP_SECONDS = 40


def readme_command(name: str) -> list[str]:
    """Return the arguments of `specfleet NAME …` as the README shows it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(rf"^\$ \.venv/bin/specfleet ({name} .*)$", text, flags=re.M)
    assert found, f"README.md shows no command `.venv/bin/specfleet {name}`"
    return shlex.split(found[1])


def replaced(arguments: list[str], changes: dict[str, str]) -> list[str]:
    """Replace arguments, each of which must be there."""
    assert changes.keys() <= set(arguments), f"{arguments} has not all of {list(changes)}"
    return [changes.get(argument, argument) for argument in arguments]


@pytest.mark.e2e
def test_the_fleet_of_the_readme_runs_and_answers(tmp_path: Path) -> None:
    specfleet = [sys.executable, "-m", "specfleet_cli"]
    log = tmp_path / "run.log"
    with log.open("wb") as output:
        run = subprocess.Popen(
            [*specfleet, *readme_command("run"), "--out", str(tmp_path)],
            cwd=ROOT,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        asyncio.run(ready(run, tmp_path))
        traffic = replaced(
            readme_command("traffic"),
            {"out/tiny/fleet.json": str(tmp_path / FILE_NAME), "120": "10"},
        )
        ended = subprocess.run(
            [*specfleet, *traffic], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
    finally:
        run.send_signal(signal.SIGINT)
        code = run.wait(STOP_SECONDS)
    assert code == 0, log.read_text()[-2000:]
