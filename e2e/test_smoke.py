"""The smoke story as a test: a fleet learns, and killing its processes costs no request."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.e2e
@pytest.mark.parametrize(
    "options",
    [
        pytest.param((), id="it-learns"),
        pytest.param(
            ("--kill", "trainer,agent,aggregator"),
            id="kill-everyone-once",
            marks=pytest.mark.long,
        ),
    ],
)
def test_a_fleet_learns_from_its_traffic(tmp_path: Path, options: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "e2e.smoke", "--out", str(tmp_path / "smoke"), *options]

    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stdout + ended.stderr
    report = json.loads((tmp_path / "smoke/report.json").read_text(encoding="utf-8"))
    assert all(check["passed"] for check in report["checks"])
