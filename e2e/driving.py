"""Sends traffic to a running fleet for a while and shows what it does meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from e2e.live import Picture, View
from e2e.observing import Observer
from e2e.report.curves import gain_percent
from e2e.timeline import acceptance_length, spans, tokens_per_second, within
from specfleet_cli.endpoints import Fleet
from specfleet_cli.traffic.driving import Load, Result, Traffic
from specfleet_cli.traffic.prompts import Document
from specfleet_cli.traffic.targets import engines_of, reference_of

WINDOW_SECONDS = 20.0
SHOW_EVERY_SECONDS = 1.0
PATIENCE_SECONDS = 600.0
MAX_TOKENS = 64
COLUMNS = ("engine", "tok/s", "acceptance", "vs control", "trainer", "steps", "positions/s", "loss")
UNKNOWN = "-"


@dataclass(frozen=True, slots=True)
class Leg:
    """Traffic from `began` to `ended`, in the observer's seconds."""

    began: float
    ended: float
    result: Result


async def until_versions(observer: Observer, *, new: int) -> None:
    """Wait until so many more versions have come: on a busy machine rounds take their time."""
    before = observer.num_new_versions()

    def came() -> int:
        return observer.num_new_versions() - before

    if await observer.until(lambda: came() >= new, seconds=PATIENCE_SECONDS) is None:
        raise SystemExit(
            f"{came()} versions came in {PATIENCE_SECONDS:.0f} s of traffic, expected {new}: "
            "the agents' logs say what the trainers do"
        )


async def drive(
    fleet: Fleet,
    observer: Observer,
    documents: Sequence[Document],
    *,
    seconds: float,
    concurrency: int,
    seed: int,
    view: View,
    acting: Callable[[], Awaitable[None]] | None = None,
) -> Leg:
    """Send prompts to every engine for `seconds`, and longer while `acting` is not done."""
    began = observer.seconds
    load = Load(
        concurrency=concurrency,
        max_tokens=MAX_TOKENS,
        seed=seed,
        requests=None,
        report_every_seconds=5.0,
    )
    traffic = Traffic(
        engines_of(fleet), documents, load, reference=reference_of(fleet), emit=_ignore
    )
    stop = asyncio.Event()

    async def keep_showing() -> None:
        while True:
            view.show(picture(fleet, observer))
            await asyncio.sleep(SHOW_EVERY_SECONDS)

    async def end_in_time() -> None:
        async with asyncio.TaskGroup() as both:
            both.create_task(asyncio.sleep(seconds))
            if acting is not None:
                both.create_task(_awaited(acting()))
        stop.set()

    async with asyncio.TaskGroup() as group:
        showing = group.create_task(keep_showing())
        group.create_task(end_in_time())
        result = await traffic.drive(stop)
        showing.cancel()
    return Leg(began, observer.seconds, result)


def picture(fleet: Fleet, observer: Observer) -> Picture:
    """Return what the fleet does now."""
    end = observer.seconds
    control = _acceptance(observer, reference_of(fleet), end)
    rows = []
    for worker in fleet.workers:
        length = _acceptance(observer, worker.name, end)
        gain = gain_percent(length, control)
        speed = tokens_per_second(spans(observer.counts, [worker.name]), end - WINDOW_SECONDS, end)
        told = next(
            (one for one in reversed(observer.trainings) if one.worker == worker.name), None
        )
        trainer = (
            (
                told.phase,
                str(told.total_steps),
                f"{told.positions_per_second:.0f}",
                " ".join(f"{loss:.2f}" for loss in told.loss) or UNKNOWN,
            )
            if told is not None
            else (UNKNOWN,) * 4
        )
        rows.append(
            (
                worker.name,
                f"{speed:.0f}",
                UNKNOWN if length is None else f"{length:.2f}",
                UNKNOWN if gain is None else f"{gain:+.1f} %",
                *trainer,
            )
        )
    return Picture(_headline(observer), COLUMNS, tuple(rows))


def _headline(observer: Observer) -> str:
    state = observer.state
    if state is None:
        return "the aggregator has not told anything yet"
    version = "no version yet" if state.base is None else f"version {state.base.number}"
    return f"round {state.round}, {version}, {state.deltas} of {state.quorum} deltas"


def _acceptance(observer: Observer, worker: str, end: float) -> float | None:
    return acceptance_length(within(spans(observer.counts, [worker]), end - WINDOW_SECONDS, end))


async def _awaited(work: Awaitable[None]) -> None:
    await work


def _ignore(_line: dict[str, Any]) -> None:
    """The view shows more than the traffic's own lines of progress."""
