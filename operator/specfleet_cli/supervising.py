"""Keeps one process running: starts it, watches for readiness, starts it again, stops it.

What to do after an end is `restarts`' decision, how a process is started and ended `children`'s.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from specfleet_cli import restarts
from specfleet_cli.children import Child, Guard
from specfleet_cli.logs import START_MARK, tail
from specfleet_cli.plan import Kind, ProcessPlan

TAIL_LINES = 15

Result = TypeVar("Result")
Probe = Callable[[ProcessPlan], Awaitable[None]]
"""Returns once the process answers."""


class Phase(StrEnum):
    """What one process is doing."""

    WAITING = "waiting"
    STARTING = "starting"
    READY = "ready"
    RESTARTING = "restarting"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ProcessState:
    """One process now; `pid` is None while it does not run, `reason` why it last ended."""

    name: str
    kind: Kind
    phase: Phase = Phase.WAITING
    pid: int | None = None
    starts: int = 0
    since: float = 0.0
    reason: str = ""
    tail: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Host:
    """What supervision needs from the run."""

    guard: Guard
    environment: Mapping[str, str]
    probe: Probe
    clock: Callable[[], float]
    report: Callable[[ProcessState], None]


async def keep_running(process: ProcessPlan, host: Host, stop: asyncio.Event) -> None:
    """Run the process until `stop`, or until it has to be given up (then its phase is FAILED)."""
    lives = restarts.Lives()
    state = ProcessState(name=process.name, kind=process.kind)
    environment = {**host.environment, **process.environment}
    while not stop.is_set():
        _note_start(process.log, lives.starts + 1)
        child = Child.start(
            process.command, environment=environment, log=process.log, guard=host.guard
        )
        lives = restarts.started(lives)
        state = replace(
            state, phase=Phase.STARTING, pid=child.pid, starts=lives.starts, since=host.clock()
        )
        host.report(state)

        code, was_ready = await _live(child, process, host, stop, state)

        if code is None:
            await child.stop(grace_seconds=process.stop_seconds)
            break
        await child.end_group()
        lives = restarts.ended(restarts.became_ready(lives) if was_ready else lives)
        step = restarts.next_step(lives)
        state = replace(
            state,
            pid=None,
            since=host.clock(),
            reason=ending(code),
            tail=() if was_ready else tail(process.log, TAIL_LINES),
        )
        if isinstance(step, restarts.GiveUp):
            host.report(replace(state, phase=Phase.FAILED, reason=f"{step.reason}; {state.reason}"))
            return
        host.report(replace(state, phase=Phase.RESTARTING))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), step.pause_seconds)
    host.report(replace(state, phase=Phase.STOPPED, pid=None, since=host.clock()))


def ending(code: int) -> str:
    """Say how a process ended."""
    return f"killed by signal {-code}" if code < 0 else f"ended with exit code {code}"


async def _live(
    child: Child, process: ProcessPlan, host: Host, stop: asyncio.Event, state: ProcessState
) -> tuple[int | None, bool]:
    """Return the exit code, None when `stop` came first, and whether the process was ready."""
    async with (
        _task(child.wait()) as ended,
        _task(stop.wait()) as stopping,
        _task(host.probe(process)) as ready,
    ):
        await asyncio.wait((ended, stopping, ready), return_when=asyncio.FIRST_COMPLETED)
        was_ready = ready.done()
        if was_ready:
            ready.result()
            host.report(replace(state, phase=Phase.READY, since=host.clock()))
            await asyncio.wait((ended, stopping), return_when=asyncio.FIRST_COMPLETED)
        return (ended.result() if ended.done() else None), was_ready


@contextlib.asynccontextmanager
async def _task(work: Awaitable[Result]) -> AsyncIterator[asyncio.Future[Result]]:
    task = asyncio.ensure_future(work)
    try:
        yield task
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def _note_start(log: Path, number: int) -> None:
    with log.open("a", encoding="utf-8") as file:
        file.write(
            f"{START_MARK} {number}, {datetime.now().astimezone().isoformat('T', 'seconds')}\n"
        )
