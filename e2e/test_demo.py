"""The demo as a test, with little traffic: every part runs, and nothing but speed changes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.engines import ROOT


@pytest.mark.e2e
@pytest.mark.long
def test_the_demo_reports_what_a_fleet_has_learnt(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "e2e.demo", "--out", str(tmp_path / "demo")]
    command += ["--seconds", "45", "--rounds", "2", "--documents", "6", "--judging-engines", "0"]

    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stdout + ended.stderr
    report = json.loads((tmp_path / "demo/report.json").read_text(encoding="utf-8"))
    assert report["held_out_gain_percent"] > 0
    assert report["live_gain_percent"] > 0
    assert report["request_errors"] == report["output_mismatches"] == 0
    assert [one["number"] for one in report["versions"]] == list(range(len(report["versions"])))
    assert (tmp_path / "demo/report.html").read_text(encoding="utf-8").count("<figure") == 8
