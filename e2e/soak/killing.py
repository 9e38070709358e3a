"""Kills what the schedule says, and waits until it is back before the next."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from e2e.checks import Revival
from e2e.experiments.disturbing import BACK_WITHIN_SECONDS, kill_engine
from e2e.killing import kill
from e2e.observing import Observer
from e2e.soak.asking import Down
from e2e.soak.processes import AGGREGATOR, ENGINE, TRAINER
from e2e.soak.schedule import Kill, kills
from specfleet_cli.endpoints import FILE_NAME, Worker, read_fleet
from specfleet_common.exchange import REPORT, TrainerReport, read_message

GRACE_SECONDS = 1.0
"""An engine that answers /health may still be about to listen with its last threads."""


@dataclass(slots=True)
class Happened:
    """What was killed and what came of it, and when which engine was not there."""

    revivals: list[Revival] = field(default_factory=list)
    down: dict[str, list[Down]] = field(default_factory=dict)


async def keep_killing(
    out: Path,
    observer: Observer,
    happened: Happened,
    *,
    every_seconds: float,
    spare_aggregator_after: float,
    seed: int,
    say: Callable[[str], None],
) -> None:
    """Kill for ever; the first worker is spared, and the aggregator from a moment on."""
    names = [worker.name for worker in read_fleet(out / FILE_NAME).workers]
    for one in kills(names[1:], every_seconds=every_seconds, seed=seed):
        if one.victim == AGGREGATOR and observer.seconds > spare_aggregator_after:
            continue
        await asyncio.sleep(one.after_seconds)
        revival = await _kill(one, out, observer, happened)
        happened.revivals.append(revival)
        back = revival.back_after_seconds
        came = "does not come back" if back is None else f"back after {back:.1f} s"
        say(f"killed {revival.victim}: {came}; {revival.detail}")


async def _kill(one: Kill, out: Path, observer: Observer, happened: Happened) -> Revival:
    workers = {worker.name: worker for worker in read_fleet(out / FILE_NAME).workers}
    if one.victim == ENGINE:
        return await _kill_engine(workers[one.worker], observer, happened)
    any_worker = next(iter(workers.values()))
    worker = workers.get(one.worker, any_worker)
    victim = one.victim if one.victim == AGGREGATOR else f"{one.victim} of {worker.name}"
    if one.victim == TRAINER:
        # One that ended with its agent comes back after it, and loads torch.
        began = observer.seconds
        if await observer.until(lambda: _trains(worker), seconds=BACK_WITHIN_SECONDS) is None:
            return Revival(victim, began, None, "it had ended with its agent before")
    revival = await kill(one.victim, worker, out / FILE_NAME, observer)
    return Revival(victim, revival.killed_at, revival.back_after_seconds, revival.detail)


def _trains(worker: Worker) -> bool:
    """Say whether the trainer that has reported last is alive."""
    report = read_message(Path(worker.state_directory) / REPORT, TrainerReport)
    return report is not None and Path(f"/proc/{report.pid}").exists()


async def _kill_engine(worker: Worker, observer: Observer, happened: Happened) -> Revival:
    began = ended = time.time()
    try:
        revival = await kill_engine(worker, observer)
        ended = time.time() + GRACE_SECONDS
    except asyncio.CancelledError:
        # The soak is over before the engine is back.
        ended = math.inf
        raise
    finally:
        happened.down.setdefault(worker.name, []).append(Down(began, ended))
    return revival
