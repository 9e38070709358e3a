"""Kills processes of a running fleet with SIGKILL, and finds out when and how they are back."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

from e2e.checks import Revival
from e2e.observing import Observer
from specfleet_cli.endpoints import Worker, read_fleet
from specfleet_common.exchange import REPORT, TrainerReport, read_message

VICTIMS = ("trainer", "agent", "aggregator")
BACK_WITHIN_SECONDS = 60.0


async def kill(victim: str, worker: Worker, fleet_file: Path, observer: Observer) -> Revival:
    """Kill the trainer or agent of a worker, or the aggregator, and wait until it is back."""
    if victim == "trainer":
        return await _kill_trainer(worker, observer)
    if victim == "agent":
        return await _kill_agent(worker, fleet_file, observer)
    return await _kill_aggregator(fleet_file, observer)


async def _kill_trainer(worker: Worker, observer: Observer) -> Revival:
    path = Path(worker.state_directory) / REPORT

    def report() -> TrainerReport:
        message = read_message(path, TrainerReport)
        assert message is not None, f"{path} is not there, the trainer has never reported"
        return message

    before = report()

    def is_back() -> bool:
        return report().pid != before.pid and report().total_steps >= before.total_steps

    revival = await _kill("trainer", before.pid, is_back, observer)
    return _with(revival, f"step {before.total_steps} before, {report().total_steps} after")


async def _kill_agent(worker: Worker, fleet_file: Path, observer: Observer) -> Revival:
    def pid() -> int | None:
        mine = (one for one in read_fleet(fleet_file).workers if one.name == worker.name)
        return next(mine).agent.pid

    before = pid()
    held_before = _held(worker, observer)
    killed_at = observer.seconds

    def is_back() -> bool:
        told = observer.told_at > killed_at
        return pid() not in (None, before) and told and _held(worker, observer) >= held_before

    assert before is not None, f"agent of {worker.name} does not run"
    revival = await _kill("agent", before, is_back, observer)
    return _with(revival, f"held version {held_before} before, {_held(worker, observer)} after")


async def _kill_aggregator(fleet_file: Path, observer: Observer) -> Revival:
    before = read_fleet(fleet_file).aggregator.pid
    base = observer.state.base if observer.state else None
    assert before is not None, "the aggregator does not run"
    assert base is not None, "there is no version yet"

    def is_back() -> bool:
        now = observer.state.base if observer.state else None
        if observer.told_at <= killed_at or now is None:
            return False
        return now == base if now.number == base.number else now.number > base.number

    killed_at = observer.seconds
    revival = await _kill("aggregator", before, is_back, observer)
    after = observer.state.base if observer.state else None
    return _with(
        revival, f"version {base.number} before, {after.number if after else 'none'} after"
    )


async def _kill(victim: str, pid: int, is_back: Callable[[], bool], observer: Observer) -> Revival:
    killed_at = observer.seconds
    os.kill(pid, signal.SIGKILL)
    seconds = await observer.until(is_back, seconds=BACK_WITHIN_SECONDS)
    return Revival(victim=victim, killed_at=killed_at, back_after_seconds=seconds, detail="")


def _with(revival: Revival, detail: str) -> Revival:
    return Revival(revival.victim, revival.killed_at, revival.back_after_seconds, detail)


def _held(worker: Worker, observer: Observer) -> int:
    state = observer.worker(worker.worker_id)
    return state.held.number if state and state.held else -1
