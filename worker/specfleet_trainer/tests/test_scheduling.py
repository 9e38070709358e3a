"""What a trainer asks of the kernel's scheduler; tests themselves may run at a low priority."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from specfleet_trainer.scheduling import NICENESS

MOST = 19
"""No priority is lower."""
SCRIPT = """
import os, sys
from pathlib import Path
from specfleet_trainer.scheduling import yield_to_others
core = min(os.sched_getaffinity(0))
yield_to_others(cores={core}, autogroup=Path(sys.argv[1]))
print(os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0) == os.SCHED_BATCH,
      os.sched_getaffinity(0) == {core})
"""


def niceness() -> int:
    """Return what a process should come to that is started as this one."""
    return max(NICENESS, os.getpriority(os.PRIO_PROCESS, 0))


def yielded(autogroup: Path, *before: str) -> str:
    """Return what a process says of itself after it has yielded."""
    return subprocess.run(
        [*before, sys.executable, "-c", SCRIPT, str(autogroup)],
        env={"PYTHONPATH": ":".join(sys.path), "PATH": os.environ["PATH"]},
        capture_output=True,
        check=True,
        text=True,
    ).stdout.strip()


def test_the_process_comes_last_on_its_own_cores(tmp_path: Path) -> None:
    autogroup = tmp_path / "autogroup"

    said = yielded(autogroup)

    assert said == f"{niceness()} True True"
    assert autogroup.read_text() == str(NICENESS)


def test_a_priority_that_is_even_lower_stays(tmp_path: Path) -> None:
    said = yielded(tmp_path / "autogroup", "nice", "-n", str(MOST))

    assert said == f"{MOST} True True"


@pytest.mark.parametrize("missing", ["absent/autogroup", "."])
def test_a_kernel_that_does_not_let_it_change_its_group_is_no_trouble(
    tmp_path: Path, missing: str
) -> None:
    assert yielded(tmp_path / missing) == f"{niceness()} True True"
