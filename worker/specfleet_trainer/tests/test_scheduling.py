from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from specfleet_trainer.scheduling import NICENESS

SCRIPT = """
import os, sys
from pathlib import Path
from specfleet_trainer.scheduling import yield_to_others
core = min(os.sched_getaffinity(0))
yield_to_others(cores={core}, autogroup=Path(sys.argv[1]))
print(os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0) == os.SCHED_BATCH,
      os.sched_getaffinity(0) == {core})
"""


def yielded(autogroup: Path) -> str:
    """Return what a process says of itself after it has yielded."""
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, str(autogroup)],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        check=True,
        text=True,
    ).stdout.strip()


def test_the_process_comes_last_on_its_own_cores(tmp_path: Path) -> None:
    autogroup = tmp_path / "autogroup"

    said = yielded(autogroup)

    assert said == f"{NICENESS} True True"
    assert autogroup.read_text() == str(NICENESS)


@pytest.mark.parametrize("missing", ["absent/autogroup", "."])
def test_a_kernel_that_does_not_let_it_change_its_group_is_no_trouble(
    tmp_path: Path, missing: str
) -> None:
    assert yielded(tmp_path / missing) == f"{NICENESS} True True"
