"""Real processes under a real run: who is restarted, and that nothing is ever left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from specfleet_cli.endpoints import EndpointsError, Fleet, read_fleet
from specfleet_cli.plan import Kind
from specfleet_cli.tests import fake_fleet
from specfleet_cli.tests.fake_fleet import lives

DEADLINE_SECONDS = 30.0
DEAD_PROXY = "http://127.0.0.1:9"


@dataclass(frozen=True)
class Running:
    """A run in a process of its own."""

    process: subprocess.Popen[str]
    out: Path
    shm_directory: Path

    def fleet(self) -> Fleet | None:
        """Return what fleet.json says, None before there is one."""
        try:
            return read_fleet(self.out / "fleet.json")
        except EndpointsError:
            return None

    def pids(self, kind: Kind) -> tuple[int, int]:
        """Return the ids of a fake process and of its child."""
        leader, child = (self.out / f"{kind}.pids").read_text(encoding="utf-8").split()
        return int(leader), int(child)

    def everyone(self) -> list[int]:
        """Return the ids of all processes of the fleet."""
        return [pid for kind in Kind for pid in self.pids(kind)]

    def output(self) -> str:
        """Return what was printed, once it ended."""
        printed, _ = self.process.communicate(timeout=DEADLINE_SECONDS)
        return printed


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    shm_directory = tmp_path / "shm"
    shm_directory.mkdir()
    with subprocess.Popen(
        [sys.executable, fake_fleet.__file__, str(tmp_path / "out"), str(shm_directory)],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, fake_fleet.MODULES)),
            "http_proxy": DEAD_PROXY,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        run = Running(process, tmp_path / "out", shm_directory)
        try:
            until(lambda: all((run.out / f"{kind}.pids").exists() for kind in Kind))
            yield run
        finally:
            process.kill()


def until(condition: Callable[[], object]) -> None:
    """Wait for a condition on other processes, for at most the deadline."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.02)


def test_a_signal_stops_everything_and_leaves_nothing(running: Running) -> None:
    everyone = running.everyone()

    running.process.send_signal(signal.SIGTERM)
    printed = running.output()

    assert running.process.returncode == 0
    assert [pid for pid in everyone if lives(pid)] == []
    assert not running.shm_directory.exists()
    assert printed.index("engine: stopped") < printed.index("agent: stopped")
    assert printed.index("agent: stopped") < printed.index("aggregator: stopped")


def test_a_killed_run_leaves_nothing(running: Running) -> None:
    everyone = running.everyone()

    running.process.kill()

    until(lambda: not any(lives(pid) for pid in everyone))
    until(lambda: not running.shm_directory.exists())


def test_a_killed_process_is_replaced_alone_with_all_it_had_started(running: Running) -> None:
    engine, child_of_engine = running.pids(Kind.ENGINE)
    others = [*running.pids(Kind.AGENT), *running.pids(Kind.AGGREGATOR)]
    until(lambda: is_ready(running, Kind.ENGINE))

    os.kill(engine, signal.SIGKILL)

    until(lambda: running.pids(Kind.ENGINE) != (engine, child_of_engine))
    until(lambda: (fleet := running.fleet()) and fleet.workers[0].engine.starts == 2)
    assert not lives(child_of_engine)
    assert all(lives(pid) for pid in others)
    fleet = running.fleet()
    assert fleet is not None
    assert fleet.workers[0].engine.pid == running.pids(Kind.ENGINE)[0]
    assert fleet.workers[0].agent.starts == 1


def test_probes_ignore_the_proxy_of_the_environment(running: Running) -> None:
    until(lambda: is_ready(running, Kind.ENGINE))


def test_a_second_run_in_the_same_directory_is_refused(running: Running) -> None:
    again = subprocess.run(
        [sys.executable, fake_fleet.__file__, str(running.out), str(running.shm_directory)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, fake_fleet.MODULES))},
        capture_output=True,
        text=True,
        check=False,
    )

    assert again.returncode != 0
    assert "is used by another specfleet run" in again.stderr


def is_ready(running: Running, kind: Kind) -> bool:
    """Say whether the run has seen a process answer, by asking what it asks."""
    fleet = running.fleet()
    if fleet is None:
        return False
    log = Path({Kind.ENGINE: fleet.workers[0].engine, Kind.AGENT: fleet.workers[0].agent}[kind].log)
    return "GET /health" in log.read_text(encoding="utf-8")
