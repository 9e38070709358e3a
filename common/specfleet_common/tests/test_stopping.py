"""Processes that are told to stop in their first moments, as PID 1 of a container is."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

DEADLINE_SECONDS = 30.0

SLOW_MODULE = """
import os, pathlib, time
pathlib.Path(os.environ["LOADING"]).touch()
time.sleep(600)
"""


@pytest.mark.parametrize("program", ["specfleet_agent", "specfleet_aggregator"])
def test_a_process_that_is_still_loading_ends_when_it_is_told_to(
    tmp_path: Path, program: str
) -> None:
    (tmp_path / "pydantic.py").write_text(SLOW_MODULE)
    loading = tmp_path / "loading"
    # Like PID 1, it hears nothing of a signal that it does not handle.
    deaf = ("sh", "-c", 'trap "" TERM; exec "$@"', "sh", sys.executable, "-m", program)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "LOADING": str(loading)}

    with subprocess.Popen(deaf, env=environment) as process:
        try:
            _await(loading)
            process.terminate()
            status = process.wait(DEADLINE_SECONDS)
        finally:
            process.kill()

    assert status == 0


def _await(path: Path) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} does not appear"
        time.sleep(0.02)
