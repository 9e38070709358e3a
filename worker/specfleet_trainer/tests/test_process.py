"""The trainer as the process it is: `python -m specfleet_trainer`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from specfleet_common import exchange
from specfleet_common.exchange import TrainerReport
from specfleet_trainer.tests import engine
from specfleet_trainer.tests.builders import write_model

DEADLINE_SECONDS = 120.0


def wait_for(what: Callable[[], object]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not what():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "state").mkdir()
    (tmp_path / "shm").mkdir()
    write_model(tmp_path / "model")
    prefix = "SPECFLEET_TRAINER_"
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        f"{prefix}STATE_DIRECTORY": str(tmp_path / "state"),
        f"{prefix}SHM_DIRECTORY": str(tmp_path / "shm"),
        f"{prefix}MODEL": str(tmp_path / "model"),
        f"{prefix}POLL_SECONDS": "0.01",
    }


@pytest.fixture
def start(environment: dict[str, str]) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    processes = []

    def start_one() -> subprocess.Popen[bytes]:
        processes.append(
            subprocess.Popen([sys.executable, "-m", "specfleet_trainer"], env=environment)
        )
        return processes[-1]

    yield start_one
    for process in processes:
        process.kill()
        process.wait()


def report(state: Path) -> TrainerReport | None:
    return exchange.read_message(state / exchange.REPORT, TrainerReport)


def test_killed_in_the_middle_of_a_round_it_loses_at_most_one_step(
    tmp_path: Path, start: Callable[[], subprocess.Popen[bytes]]
) -> None:
    state = tmp_path / "state"
    ring = engine.new_ring(tmp_path / "shm")
    engine.give_orders(state, local_steps=10**6, publish_every_steps=1)
    engine.serve(ring, 40)
    first = start()
    wait_for(lambda: (seen := report(state)) is not None and seen.local_steps >= 5)

    first.kill()
    first.wait()
    seen = report(state)
    second = start()
    wait_for(lambda: (now := report(state)) is not None and now.pid == second.pid)

    after = report(state)
    assert seen is not None and after is not None
    assert after.local_steps >= seen.local_steps
    second.send_signal(signal.SIGTERM)
    assert second.wait(DEADLINE_SECONDS) == 0


def test_it_ends_when_its_parent_is_killed(tmp_path: Path, environment: dict[str, str]) -> None:
    code = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-m', 'specfleet_trainer'])\n"
        "print(child.pid, flush=True)\n"
        "child.wait()\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    child_pid = int(parent.stdout.readline())
    wait_for(lambda: report(tmp_path / "state") is not None)

    parent.kill()
    parent.wait()
    parent.stdout.close()

    wait_for(lambda: not is_running(child_pid))


def is_running(pid: int) -> bool:
    """Say whether the process runs; one that only waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_it_does_not_start_for_a_parent_that_is_not_there(environment: dict[str, str]) -> None:
    environment["SPECFLEET_TRAINER_PARENT_PID"] = "999999999"

    ended = subprocess.run(
        [sys.executable, "-m", "specfleet_trainer"],
        env=environment,
        timeout=DEADLINE_SECONDS,
        check=False,
    )

    assert ended.returncode == 0


def test_a_wrong_setting_is_told_before_torch_is_imported(environment: dict[str, str]) -> None:
    environment["SPECFLEET_TRAINER_THREADS"] = "none"

    ended = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "specfleet_trainer"],
        env=environment,
        capture_output=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )

    assert ended.returncode == 2
    assert b"threads" in ended.stderr and b"| torch" not in ended.stderr
