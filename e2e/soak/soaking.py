"""Runs a fleet for a soak: traffic, kills, readings, and then what is left."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from e2e.cluster_traffic.driving import Driving, Load
from e2e.documents import seen
from e2e.fleets import STORE, ready, running
from e2e.live import Picture, View
from e2e.observing import Observer, watching
from e2e.simulator.running import simulated
from e2e.soak import report
from e2e.soak.asking import Tally
from e2e.soak.ending import crashes, ending, stored
from e2e.soak.fleet import Options, manifest
from e2e.soak.garbage import stock_of
from e2e.soak.growth import sight
from e2e.soak.killing import Happened, keep_killing
from e2e.soak.readings import DESCRIPTORS, MEMORY, THREADS, Readings, keep_reading
from e2e.soak.verdict import Facts, growths
from specfleet_cli.endpoints import Fleet

STARTING, RUNNING, STOPPING = "starting the fleet", "killing under traffic", "stopping the fleet"
FIRST_VERSION_SECONDS = 300.0
SHOW_EVERY_SECONDS = 2.0
COLUMNS = ("the largest", "MiB", "file descriptors", "threads")


async def soak(out: Path, options: Options, view: View) -> tuple[dict[str, Any], str, Facts]:
    """Run it in `out`; return the figures, the page, and what they rest on."""
    readings, happened = Readings(began=time.monotonic()), Happened()
    with _engines(real=options.real), running(manifest(out, options), out) as process:
        fleet = await ready(process, out)
        observer = Observer(fleet)
        async with watching(observer), _traffic(fleet, options) as tallies:
            if (
                await observer.until(
                    lambda: observer.num_new_versions() > 0, seconds=FIRST_VERSION_SECONDS
                )
                is None
            ):
                raise SystemExit(
                    f"no version in {FIRST_VERSION_SECONDS:.0f} s: the agents' logs in "
                    f"{out / 'logs'} say what the trainers do"
                )
            view.begin(RUNNING)
            await _run(process, out, readings, happened, observer, options, view)
        view.begin(STOPPING)
    versions, told = stored(out / STORE)
    shared = [Path(worker.shm_directory).parent for worker in fleet.workers[:1]]
    facts = Facts(
        growths=list(growths(readings.lives, sight(options.seconds))),
        revivals=happened.revivals,
        tallies=tallies,
        down=happened.down,
        seen=observer.published,
        stored=versions,
        ledger=told,
        store=stock_of(out / STORE),
        crashes=crashes(out / "logs"),
        ending=ending(process.returncode, readings.seen, shared),
    )
    # It loads torch, which would lie beside the fleet all the time.
    from e2e.bench.machine import this_machine

    figures = report.content(facts, asdict(options), asdict(this_machine()))
    return figures, report.page(figures, facts, readings.lives), facts


async def _run(
    process: subprocess.Popen[bytes],
    out: Path,
    readings: Readings,
    happened: Happened,
    observer: Observer,
    options: Options,
    view: View,
) -> None:
    """Kill and read for as long as it is asked for; end sooner when the run does."""
    began = observer.seconds
    readings.began = time.monotonic() - began
    tasks = [
        asyncio.create_task(keep_reading(out, readings, every_seconds=options.read_every_seconds)),
        asyncio.create_task(
            keep_killing(
                out,
                observer,
                happened,
                every_seconds=options.kill_every_seconds,
                spare_aggregator_after=began + options.seconds / 2,
                seed=options.seed,
                say=view.say,
            )
        ),
    ]
    try:
        while observer.seconds < began + options.seconds and process.poll() is None:
            view.show(_picture(readings, observer, happened))
            done, _ = await asyncio.wait(
                tasks, timeout=SHOW_EVERY_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
            for task in done:
                task.result()
                return
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def _traffic(fleet: Fleet, options: Options) -> AsyncIterator[dict[str, Tally]]:
    """Send requests to every engine for the time of a `with` block."""
    load = Load(clients=options.clients, max_tokens=48, seed=options.seed, distinct_prompts=400)
    tallies = {worker.name: Tally() for worker in fleet.workers}
    stop = asyncio.Event()
    driving = [
        Driving(worker.engine.url, load, emit=tallies[worker.name].take, documents=seen("hi"))
        for worker in fleet.workers
    ]
    tasks = [asyncio.create_task(one.drive(stop)) for one in driving]
    try:
        yield tallies
    finally:
        stop.set()
        await asyncio.gather(*tasks)


def _picture(readings: Readings, observer: Observer, happened: Happened) -> Picture:
    """Return what the fleet holds now."""
    held = [readings.last(quantity) for quantity in (MEMORY, DESCRIPTORS, THREADS)]
    rows = [
        (f"{kind} ({len(names)})", *(f"{max(quantity[kind].values()):.0f}" for quantity in held))
        for kind, names in held[0].items()
    ]
    newest = observer.published[-1].number if observer.published else 0
    return Picture(f"version {newest}, {len(happened.revivals)} kills", COLUMNS, tuple(rows))


@contextmanager
def _engines(*, real: bool) -> Iterator[None]:
    """Have what is started meanwhile take the simulator for vLLM, unless real ones are wanted."""
    before = os.environ.get("PYTHONPATH")
    if not real:
        os.environ.update(simulated(os.environ))
    try:
        yield
    finally:
        os.environ.pop("PYTHONPATH", None)
        if before is not None:
            os.environ["PYTHONPATH"] = before
