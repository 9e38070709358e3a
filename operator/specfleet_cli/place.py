"""Prepares this machine for one run: checks the model, claims the directory, finds free ports."""

from __future__ import annotations

import fcntl
import shutil
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from specfleet_cli.plan import FleetPlan
from specfleet_common.api.fleet import SpeculatorFleet

LOGS, STATE = "logs", "state"
_LOCK = "run.lock"


class PlaceError(ValueError):
    """The fleet cannot run here; the message says why."""


def check_runnable(fleet: SpeculatorFleet) -> None:
    """Raise PlaceError when it is clear beforehand that the fleet cannot start."""
    model = Path(fleet.spec.target.model)
    if not (model / "config.json").is_file():
        raise PlaceError(
            f"spec.target.model: {model} is no model, expected a directory with config.json"
        )
    if not any(cohort.replicas for cohort in fleet.spec.all_cohorts):
        raise PlaceError(
            "spec: all cohorts together have 0 replicas, expected at least one engine to run"
        )


@contextmanager
def claimed(out: Path) -> Iterator[None]:
    """Hold the output directory for this run alone, without what an earlier run left there."""
    out.mkdir(parents=True, exist_ok=True)
    with (out / _LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise PlaceError(
                f"--out: {out} is used by another specfleet run, expected a directory of its own"
            ) from error
        for leftover in (LOGS, STATE):
            shutil.rmtree(out / leftover, ignore_errors=True)
            (out / leftover).mkdir()
        yield


def make_directories(plan: FleetPlan) -> None:
    """Create what the processes expect to be there."""
    plan.store_directory.mkdir(parents=True, exist_ok=True)
    for worker in plan.workers:
        worker.shm_directory.mkdir()
        worker.state_directory.mkdir()


def free_ports(number: int) -> list[int]:
    """Return different ports of this machine that are free now."""
    with ExitStack() as sockets:
        found = [sockets.enter_context(socket.socket()) for _ in range(number)]
        for one in found:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in found]


def inherited(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what children inherit: everything but settings meant for another specfleet."""
    return {name: value for name, value in environment.items() if not name.startswith("SPECFLEET_")}
