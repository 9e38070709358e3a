from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from specfleet_agent.instruments import Instruments
from specfleet_agent.memory import Cgroup, find_cgroup
from specfleet_agent.supervising import Supervisor
from specfleet_agent.supervision import MAX_FAILURES, PARKED_SECONDS, Limits
from specfleet_agent.tests.processes import eventually, is_alive
from specfleet_agent.trainer_process import TrainerProcess
from specfleet_agent.volume import Volume

SLEEPER = (sys.executable, "-S", "-c", "import time; time.sleep(3600)")
FAILING = (sys.executable, "-S", "-c", "raise SystemExit(7)")


class Supervised:
    """A supervisor of a real process whose clock is moved by the test."""

    def __init__(
        self,
        directory: Path,
        command: tuple[str, ...],
        memory: int | None = None,
        cgroup: Cgroup | None = None,
    ) -> None:
        self.now = 0.0
        self.registry = CollectorRegistry()
        self.process = TrainerProcess(command, dict(os.environ))
        self.volume = Volume(directory, directory)
        self.supervisor = Supervisor(
            self.process,
            Limits(memory, silence_seconds=60.0),
            self.volume,
            Instruments(self.registry),
            cgroup=cgroup,
            clock=lambda: self.now,
        )

    async def watch(self, *, now: float) -> None:
        self.now = now
        await self.supervisor.watch()

    def close(self) -> None:
        self.process.stop(grace_seconds=0.0)

    def wait_for_the_end(self) -> None:
        eventually(self.process.ending, what="the trainer ends")

    def restarts(self, cause: str) -> float | None:
        return self.registry.get_sample_value(
            "specfleet_agent_trainer_restarts_total", {"cause": cause}
        )


Supervise = Callable[..., Supervised]


@pytest.fixture
def supervise(tmp_path: Path) -> Iterator[Supervise]:
    """Return a function that makes supervisors, whose trainers end with the test."""
    made: list[Supervised] = []

    def make(
        command: tuple[str, ...], memory: int | None = None, cgroup: Cgroup | None = None
    ) -> Supervised:
        made.append(Supervised(tmp_path, command, memory, cgroup))
        return made[-1]

    yield make
    for supervised in made:
        supervised.close()


async def test_a_killed_trainer_is_started_again(supervise: Supervise) -> None:
    supervised = supervise(SLEEPER)
    await supervised.watch(now=0.0)
    assert supervised.process.handle is not None
    first = supervised.process.handle.pid
    os.kill(first, signal.SIGKILL)
    supervised.wait_for_the_end()

    await supervised.watch(now=1.0)
    await supervised.watch(now=1.25)

    second = supervised.process.handle.pid
    assert second != first
    assert supervised.restarts("exit") == 1.0


async def test_a_trainer_over_its_memory_is_killed(supervise: Supervise) -> None:
    supervised = supervise(SLEEPER, memory=1)
    await supervised.watch(now=0.0)
    eventually(supervised.process.memory_bytes, what="the trainer occupies memory")

    await supervised.watch(now=1.0)
    supervised.wait_for_the_end()
    await supervised.watch(now=1.1)

    assert supervised.restarts("memory") == 1.0
    assert "bytes of memory, allowed are 1" in supervised.supervisor.trainer.reason


async def test_a_trainer_that_the_kernel_killed_for_memory_has_not_crashed(
    supervise: Supervise, tmp_path: Path
) -> None:
    (tmp_path / "memory.max").write_text("max")
    (tmp_path / "memory.events").write_text("oom_kill 4\n")
    (tmp_path / "own").write_text("0::/\n")
    supervised = supervise(SLEEPER, cgroup=find_cgroup(tmp_path, tmp_path / "own"))
    await supervised.watch(now=0.0)
    assert supervised.process.handle is not None
    os.kill(supervised.process.handle.pid, signal.SIGKILL)
    (tmp_path / "memory.events").write_text("oom_kill 5\n")
    supervised.wait_for_the_end()

    await supervised.watch(now=1.0)

    assert (supervised.restarts("memory"), supervised.restarts("exit")) == (1.0, 0.0)
    assert "killed by the kernel" in supervised.supervisor.trainer.reason


async def test_a_trainer_that_stops_reporting_is_killed(
    supervise: Supervise, tmp_path: Path
) -> None:
    supervised = supervise(SLEEPER)
    await supervised.watch(now=0.0)
    (tmp_path / "report.json").touch()
    await supervised.watch(now=50.0)
    await supervised.watch(now=110.0)
    alive = supervised.process.ending() is None

    await supervised.watch(now=110.1)
    supervised.wait_for_the_end()
    await supervised.watch(now=110.2)

    assert alive
    assert supervised.restarts("hang") == 1.0


async def test_a_crash_loop_is_parked_and_tried_again(supervise: Supervise) -> None:
    supervised = supervise(FAILING)
    now = 0.0
    for _ in range(MAX_FAILURES):
        await supervised.watch(now=now)
        supervised.wait_for_the_end()
        await supervised.watch(now=now + 0.1)
        now = supervised.supervisor.trainer.start_at
    parked_phase = supervised.supervisor.phase("training")
    await supervised.watch(now=now - 0.1)
    still_parked = not supervised.supervisor.trainer.running

    await supervised.watch(now=now)

    assert (parked_phase, still_parked) == ("parked", True)
    assert now - supervised.supervisor.trainer.failures[-1] == PARKED_SECONDS
    assert supervised.supervisor.trainer.running


async def test_a_command_that_does_not_exist_is_a_failure_like_any_other(
    supervise: Supervise,
) -> None:
    supervised = supervise(("/no/such/trainer",))

    await supervised.watch(now=0.0)

    assert supervised.supervisor.phase(None) == "restarting"
    assert "cannot be started" in supervised.supervisor.trainer.reason


async def test_a_worker_that_does_not_train_has_no_trainer(tmp_path: Path) -> None:
    instruments = Instruments(CollectorRegistry())
    supervisor = Supervisor(
        None,
        Limits(None, 60.0),
        Volume(tmp_path, tmp_path),
        instruments,
        cgroup=None,
        clock=lambda: 0.0,
    )

    await supervisor.watch()

    assert supervisor.phase("training") == "off"


async def test_stopping_kills_a_trainer_that_does_not_listen(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    deaf = (
        "import signal, time, pathlib; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
        f"pathlib.Path({str(ready)!r}).touch(); time.sleep(3600)"
    )
    process = TrainerProcess((sys.executable, "-S", "-c", deaf), dict(os.environ))
    pid = process.start()
    eventually(ready.exists, what="the trainer ignores SIGTERM")

    process.stop(grace_seconds=0.1)

    assert not is_alive(pid)


@pytest.mark.parametrize(
    ("code", "ending"),
    [
        pytest.param("raise SystemExit(7)", "exit status 7", id="exit"),
        pytest.param("import os; os.kill(os.getpid(), 9)", "signal 9", id="signal"),
    ],
)
def test_the_way_it_ended_is_told(code: str, ending: str) -> None:
    process = TrainerProcess((sys.executable, "-S", "-c", code), dict(os.environ))

    process.start()

    assert eventually(process.ending, what="the trainer ends") == ending
