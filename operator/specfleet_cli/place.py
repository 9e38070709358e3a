"""Prepares this machine for one run: checks the model, claims the directory, finds free ports."""

from __future__ import annotations

import fcntl
import secrets
import shutil
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from specfleet_cli.plan import FleetPlan
from specfleet_common.api.fleet import SpeculatorFleet
from specfleet_common.files import write_file, write_secret
from specfleet_common.store.location import DirectoryLocation, Location
from specfleet_common.store.opening import CannotOpen, open_store

LOGS, STATE = "logs", "state"
_LOCK, _STORE_LOCK = "run.lock", ".run.lock"


class PlaceError(ValueError):
    """The fleet cannot run here; the message says why."""


def check_runnable(fleet: SpeculatorFleet) -> None:
    """Raise PlaceError when it is clear beforehand that the fleet cannot start."""
    source = fleet.spec.target.source
    if source is not None and source.persistent_volume_claim is not None:
        raise PlaceError(
            "spec.target.source.persistentVolumeClaim: is a volume of a cluster, expected hostPath,"
            " or no source and a path relative to the manifest, for a run on this machine"
        )
    model = Path(fleet.spec.target.model)
    if not (model / "config.json").is_file():
        raise PlaceError(
            f"spec.target.model: {model} is no model, expected a directory with config.json"
        )
    if not any(cohort.replicas for cohort in fleet.spec.all_cohorts):
        raise PlaceError(
            "spec: all cohorts together have 0 replicas, expected at least one engine to run"
        )


def check_store(location: Location, environment: Mapping[str, str]) -> None:
    """Raise PlaceError when the aggregator could not open the store; nothing is asked of it."""
    try:
        open_store(location, environment)
    except CannotOpen as error:
        raise PlaceError(f"spec.store: {error}") from error


@contextmanager
def claimed(out: Path, store: Location) -> Iterator[None]:
    """Hold `out` for this run alone, without what an earlier run left there.

    A store in a directory is held too; one in a bucket settles by itself who writes what.
    """
    directory = store.path if isinstance(store, DirectoryLocation) else None
    _check_ours(out, directory)
    with ExitStack() as locks:
        locks.enter_context(_locked(out, _LOCK, field="--out"))
        if directory is not None:
            field = "spec.store.directory.path"
            locks.enter_context(_locked(directory, _STORE_LOCK, field=field))
        for leftover in (LOGS, STATE):
            shutil.rmtree(out / leftover, ignore_errors=True)
            (out / leftover).mkdir()
        yield


def _check_ours(out: Path, store: Path | None) -> None:
    """Raise PlaceError when a run would delete what no run has written."""
    for directory in (out / LOGS, out / STATE):
        if store is not None and store.resolve().is_relative_to(directory.resolve()):
            raise PlaceError(
                f"spec.store.directory.path: {store} is in {directory}, which every run empties,"
                " expected a directory elsewhere"
            )
        if directory.exists() and not (out / _LOCK).exists():
            raise PlaceError(
                f"--out: {directory} exists and is not from a specfleet run, which would delete"
                " it; give another --out, or move it away"
            )


@contextmanager
def _locked(directory: Path, name: str, *, field: str) -> Iterator[None]:
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / name).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise PlaceError(
                f"{field}: {directory} is used by another specfleet run, expected a directory of"
                " its own"
            ) from error
        yield


def write_files(plan: FleetPlan) -> None:
    """Write what the aggregator reads when it starts, and a secret that no other run has."""
    write_file(plan.settings_file, plan.settings.to_json().encode())
    write_secret(plan.token_file, secrets.token_urlsafe(32))


def make_directories(plan: FleetPlan) -> None:
    """Create what the processes expect to be there."""
    for worker in plan.workers:
        worker.shm_directory.mkdir()
        worker.state_directory.mkdir()


def free_ports(number: int, address: str = "127.0.0.1") -> list[int]:
    """Return different ports of one of this machine's addresses that are free now."""
    with ExitStack() as sockets:
        found = [sockets.enter_context(socket.socket()) for _ in range(number)]
        for one in found:
            one.bind((address, 0))
        return [one.getsockname()[1] for one in found]


def inherited(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what children inherit: everything but settings meant for another specfleet."""
    return {name: value for name, value in environment.items() if not name.startswith("SPECFLEET_")}
