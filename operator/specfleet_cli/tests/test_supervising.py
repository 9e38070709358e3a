"""Supervision of one real process at a time."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from specfleet_cli.children import Guard
from specfleet_cli.place import free_ports
from specfleet_cli.plan import Kind, ProcessPlan
from specfleet_cli.readiness import Prober
from specfleet_cli.supervising import Host, Phase, ProcessState, keep_running
from specfleet_cli.tests.fake_fleet import fake_process, lives


class Seen:
    """Collects what is reported."""

    def __init__(self) -> None:
        self.states: list[ProcessState] = []
        self.ready = asyncio.Event()

    def __call__(self, state: ProcessState) -> None:
        """Keep the state."""
        self.states.append(state)
        if state.phase is Phase.READY:
            self.ready.set()

    @property
    def phases(self) -> list[Phase]:
        """Return the phases in order."""
        return [state.phase for state in self.states]


@pytest.fixture
def guard() -> Iterator[Guard]:
    guard = Guard()
    yield guard
    guard.finish()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    return tmp_path


async def supervise(process: ProcessPlan, guard: Guard, seen: Seen, stop: asyncio.Event) -> None:
    async with httpx.AsyncClient() as client:
        host = Host(
            guard=guard,
            environment=os.environ,
            probe=Prober(client),
            clock=time.monotonic,
            report=seen,
        )
        await keep_running(process, host, stop)


async def test_a_process_that_never_answers_is_given_up_with_the_end_of_its_log(
    guard: Guard, out: Path
) -> None:
    broken = replace(
        fake_process(Kind.ENGINE, out, free_ports(1)[0]),
        command=(sys.executable, "-S", "-c", "raise SystemExit('no such model')"),
    )
    seen = Seen()

    await supervise(broken, guard, seen, asyncio.Event())

    assert seen.phases == [Phase.STARTING, Phase.RESTARTING] * 2 + [Phase.STARTING, Phase.FAILED]
    assert seen.states[-1].reason == "ended 3 times and was never ready; ended with exit code 1"
    assert seen.states[-1].tail[-1] == "no such model"


async def test_a_command_that_does_not_exist_is_given_up(guard: Guard, out: Path) -> None:
    absent = replace(fake_process(Kind.AGENT, out, free_ports(1)[0]), command=("/nowhere/at-all",))
    seen = Seen()

    await supervise(absent, guard, seen, asyncio.Event())

    assert seen.phases[-1] is Phase.FAILED
    assert "FileNotFoundError" in seen.states[-1].tail[-1]


async def test_what_does_not_stop_when_asked_is_killed(guard: Guard, out: Path) -> None:
    stubborn = replace(
        fake_process(Kind.ENGINE, out, free_ports(1)[0], "stubborn"), stop_seconds=0.2
    )
    seen, stop = Seen(), asyncio.Event()
    task = asyncio.create_task(supervise(stubborn, guard, seen, stop))
    await asyncio.wait_for(seen.ready.wait(), 10)

    stop.set()
    await asyncio.wait_for(task, 10)

    assert seen.phases == [Phase.STARTING, Phase.READY, Phase.STOPPED]
    pids = (out / "engine.pids").read_text(encoding="utf-8").split()
    assert [pid for pid in pids if lives(int(pid))] == []


async def test_the_log_keeps_every_start(guard: Guard, out: Path) -> None:
    broken = replace(
        fake_process(Kind.ENGINE, out, free_ports(1)[0]),
        command=(sys.executable, "-S", "-c", "1/0"),
    )

    await supervise(broken, guard, Seen(), asyncio.Event())

    text = broken.log.read_text(encoding="utf-8")
    assert [text.count(f"--- start {number}, ") for number in (1, 2, 3, 4)] == [1, 1, 1, 0]
