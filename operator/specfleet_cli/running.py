"""`specfleet run`: a whole fleet as processes of this machine, until a signal or a broken process.

Gathers what happens and applies what `plan` and `restarts` decide. However it ends, the guard
leaves no process and no shared memory behind.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import httpx
from rich.console import Console

from specfleet_cli.acceptance import Reading, Recent
from specfleet_cli.children import Guard
from specfleet_cli.endpoints import FILE_NAME, describe, write_fleet
from specfleet_cli.logs import last_message
from specfleet_cli.place import (
    check_runnable,
    check_store,
    claimed,
    free_ports,
    inherited,
    make_directories,
    write_files,
)
from specfleet_cli.plan import FleetPlan, Kind, Place, num_ports, plan
from specfleet_cli.readiness import Prober
from specfleet_cli.scraping import FILE_NAME as TARGETS_FILE
from specfleet_cli.scraping import write_targets
from specfleet_cli.supervising import Host, Phase, ProcessState, keep_running
from specfleet_cli.terminal import Terminal
from specfleet_cli.view import View, replaces
from specfleet_cli.watching import watch
from specfleet_common.api.fleet import SpeculatorFleet
from specfleet_common.commands.aggregator import store_location
from specfleet_common.reaping import adopt_orphans
from specfleet_common.wire.access import access_by_files
from specfleet_common.wire.messages import FleetState

SHARED_MEMORY = Path("/dev/shm")
SHOW_EVERY_SECONDS = 0.5
REAP_EVERY_SECONDS = 1.0
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Clients first, then who learns from them, then who collects what was learnt.
STOP_ORDER = (Kind.ENGINE, Kind.AGENT, Kind.AGGREGATOR)


def run_fleet(
    fleet: SpeculatorFleet, out: Path, console: Console, environment: Mapping[str, str]
) -> int:
    """Run the fleet until it is told to stop; return the exit code, 1 when a process is broken."""
    check_runnable(fleet)
    store = store_location(fleet)
    check_store(store, environment)
    with claimed(out, store):
        name = f"specfleet-{fleet.metadata.name}-"
        place = Place(
            python=sys.executable,
            out=out,
            shm_directory=Path(tempfile.mkdtemp(prefix=name, dir=SHARED_MEMORY)),
            run_id=secrets.token_hex(3),
        )
        todo = plan(fleet, place, free_ports(num_ports(fleet)))
        adopt_orphans()
        guard = Guard()
        guard.watch_directory(place.shm_directory)
        try:
            make_directories(todo)
            write_files(todo)
            write_targets(out / TARGETS_FILE, todo)
            return asyncio.run(Run(todo, out, console).run(guard, inherited(environment)))
        finally:
            guard.finish()
            for file in (out / FILE_NAME, out / TARGETS_FILE, todo.token_file):
                file.unlink(missing_ok=True)


class Run:
    """One run of a planned fleet: what is known of it, and how it is shown."""

    def __init__(self, todo: FleetPlan, out: Path, console: Console) -> None:
        self._plan = todo
        self._out = out
        self._terminal = Terminal(console, todo, clock=time.monotonic)
        self._states: dict[str, ProcessState] = {}
        self._fleet: FleetState | None = None
        self._recent: dict[str, Recent] = {}

    async def run(self, guard: Guard, environment: Mapping[str, str]) -> int:
        """Start everything, show what happens, stop everything in order; return the exit code."""
        told_to_stop = asyncio.Event()
        for number in STOP_SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, told_to_stop.set)
        with self._terminal:
            async with httpx.AsyncClient(trust_env=False) as client:
                host = Host(
                    guard=guard,
                    environment=environment,
                    probe=Prober(client),
                    clock=time.monotonic,
                    report=self._take_process,
                )
                await self._run(host, told_to_stop)
        return int(any(state.phase is Phase.FAILED for state in self._states.values()))

    async def _run(self, host: Host, told_to_stop: asyncio.Event) -> None:
        stops = {kind: asyncio.Event() for kind in Kind}
        kept = {
            process.name: asyncio.create_task(keep_running(process, host, stops[process.kind]))
            for process in self._plan.processes
        }
        told = asyncio.create_task(told_to_stop.wait())
        showing = asyncio.create_task(self._keep_showing())
        reaping = asyncio.create_task(_keep_reaping(host.guard))
        access = access_by_files(token_file=self._plan.token_file)
        watching = asyncio.create_task(
            watch(self._plan.aggregator_address, access, self._take_fleet)
        )
        # Ends at a signal, at a process that was given up, or at a mistake of ours.
        done, _ = await asyncio.wait(
            (told, showing, reaping, watching, *kept.values()),
            return_when=asyncio.FIRST_COMPLETED,
        )
        self._terminal.say("stopping")
        # The aggregator would wait for a caller that still listens.
        watching.cancel()
        for kind in STOP_ORDER:
            stops[kind].set()
            await asyncio.gather(
                *(kept[process.name] for process in self._plan.processes if process.kind is kind)
            )
        told.cancel()
        showing.cancel()
        reaping.cancel()
        await asyncio.gather(told, showing, reaping, watching, return_exceptions=True)
        for task in done:
            task.result()

    async def _keep_showing(self) -> None:
        while True:
            self._terminal.show(self._view())
            await asyncio.sleep(SHOW_EVERY_SECONDS)

    def _take_process(self, state: ProcessState) -> None:
        self._states[state.name] = state
        write_fleet(self._out / FILE_NAME, describe(self._plan, self._states, pid=os.getpid()))
        self._terminal.show(self._view())

    def _take_fleet(self, state: FleetState) -> None:
        if not replaces(state, self._fleet):
            return
        self._fleet = state
        for worker in state.workers:
            reading = Reading(
                at=time.monotonic(),
                verify_steps=sum(drafter.verify_steps for drafter in worker.drafters),
                accepted=sum(sum(drafter.accepted) for drafter in worker.drafters),
            )
            recent = self._recent.get(worker.worker_id, Recent())
            self._recent[worker.worker_id] = recent.plus(reading)

    def _view(self) -> View:
        starting = [
            process
            for process in self._plan.processes
            if (state := self._states.get(process.name)) and state.phase is Phase.STARTING
        ]
        return View(
            now=time.monotonic(),
            processes=dict(self._states),
            last_lines={process.name: last_message(process.log) for process in starting},
            fleet=self._fleet,
            acceptance={name: recent.length for name, recent in self._recent.items()},
        )


async def _keep_reaping(guard: Guard) -> None:
    while True:
        guard.reap()
        await asyncio.sleep(REAP_EVERY_SECONDS)
