"""Lets members of a fleet under traffic come and go, and finds out when they are back."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx

from e2e.checks import Revival
from e2e.cohorts import CONTROL
from e2e.documents import seen
from e2e.driving import MAX_TOKENS
from e2e.joining_engine import joining
from e2e.killing import kill
from e2e.observing import Observer
from specfleet_cli.endpoints import FILE_NAME, Fleet, Worker
from specfleet_cli.traffic.driving import Load, Result, Traffic
from specfleet_cli.traffic.targets import engines_of

BACK_WITHIN_SECONDS = 300.0
POLL_SECONDS = 0.2
STEPS_INTO_ROUND = 5


@dataclass
class Happened:
    """What was done to the fleet, in order, and what became of the engine that joined."""

    revivals: list[Revival] = field(default_factory=list)
    joined: Worker | None = None
    joined_result: Result | None = None


async def disturb(
    fleet: Fleet,
    observer: Observer,
    happened: Happened,
    *,
    manifest: Path,
    calm_seconds: float,
    seed: int,
    say: Callable[[str], None],
) -> None:
    """Do everything once, after the first new version, with some time of calm before and after.

    An engine is killed and another one joins; then the aggregator is killed; then a trainer, in the
    middle of a round.
    """
    steady, victim = [worker for worker in fleet.workers if worker.train]
    out = manifest.parent

    def took(revival: Revival) -> None:
        back = revival.back_after_seconds
        shown = "does not come back" if back is None else f"back after {back:.1f} s"
        say(f"{revival.victim}: {shown}; {revival.detail}")
        happened.revivals.append(revival)

    await observer.until(lambda: observer.num_new_versions() > 0, seconds=BACK_WITHIN_SECONDS)
    await asyncio.sleep(calm_seconds)
    async with joining(manifest, fleet, out) as joined:
        happened.joined = joined
        observer.watch_also(joined)
        async with asyncio.TaskGroup() as both:
            killing = both.create_task(kill_engine(victim, observer))
            coming = both.create_task(wait_for_joining(joined, observer))
        took(killing.result())
        took(coming.result())
        load = Load(
            concurrency=4, max_tokens=MAX_TOKENS, seed=seed, requests=None, report_every_seconds=5.0
        )
        control = next(worker for worker in fleet.workers if worker.cohort == CONTROL)
        traffic = Traffic(
            engines_of(replace(fleet, workers=(control, joined))),
            seen("hi"),
            load,
            reference=control.name,
            emit=lambda _line: None,
        )
        stop = asyncio.Event()
        serving = asyncio.create_task(traffic.drive(stop))
        took(await kill("aggregator", steady, out / FILE_NAME, observer))
        await observer.until(lambda: is_mid_round(steady, observer), seconds=calm_seconds)
        took(await kill("trainer", steady, out / FILE_NAME, observer))
        await asyncio.sleep(calm_seconds)
        stop.set()
        happened.joined_result = await serving


async def kill_engine(worker: Worker, observer: Observer) -> Revival:
    """Kill an engine's server with SIGKILL, and wait until it answers again."""
    assert worker.engine.pid is not None, f"engine of {worker.name} does not run"
    before = observer.published[-1].number
    killed_at = observer.seconds
    os.kill(worker.engine.pid, signal.SIGKILL)
    # An answer means that it is back only after there was none.
    await _until(worker, observer, answers=False)
    back = await _until(worker, observer, answers=True)
    return Revival(
        victim=f"engine of {worker.name}",
        killed_at=killed_at,
        back_after_seconds=None if back is None else back - killed_at,
        detail=f"version {before} was the newest before, {observer.published[-1].number} is after",
    )


async def wait_for_joining(worker: Worker, observer: Observer) -> Revival:
    """Wait until an engine that has been started answers and runs weights of the fleet."""
    began = observer.seconds
    answered = await _until(worker, observer, answers=True)
    newest = observer.published[-1]
    ran = await observer.until(
        lambda: any(
            observer.has_run(worker.name, version)
            for version in observer.published
            if version.number >= newest.number
        ),
        seconds=BACK_WITHIN_SECONDS,
    )
    return Revival(
        victim=f"joining engine {worker.name}",
        killed_at=began,
        back_after_seconds=None if answered is None or ran is None else answered - began,
        detail=f"version {newest.number} was the newest when it first answered; it ran that or a "
        f"newer one {'never' if ran is None else f'after {ran:.1f} s more'}",
    )


def is_mid_round(worker: Worker, observer: Observer) -> bool:
    """Say whether the worker's trainer has done some steps of a round, and is going on."""
    told = observer.worker(worker.worker_id)
    return (
        told is not None
        and told.trainer.phase == "training"
        and told.trainer.local_steps >= STEPS_INTO_ROUND
    )


async def _until(worker: Worker, observer: Observer, *, answers: bool) -> float | None:
    """Return when the engine first answered, or first did not; None when that took too long."""
    deadline = observer.seconds + BACK_WITHIN_SECONDS
    async with httpx.AsyncClient(trust_env=False, timeout=2.0) as client:
        while observer.seconds < deadline:
            try:
                is_up = (await client.get(f"{worker.engine.url}/health")).is_success
            except httpx.HTTPError:
                is_up = False
            if is_up == answers:
                return observer.seconds
            await asyncio.sleep(POLL_SECONDS)
    return None
