"""Readings become series: one for each life of each process."""

from __future__ import annotations

import os
from pathlib import Path

from e2e.soak.growth import Point
from e2e.soak.processes import Life
from e2e.soak.readings import (
    DESCRIPTORS,
    FLEET,
    MEMORY,
    PROCESSES,
    SHARED,
    SHARED_FILES,
    STATE,
    THREADS,
    Readings,
    Sample,
    read,
)
from specfleet_cli.endpoints import Endpoint, Fleet, Worker
from specfleet_common.store.location import DirectoryLocation


def endpoint(name: str, pid: int | None) -> Endpoint:
    return Endpoint(name, url="", pid=pid, starts=1, log="")


def fleet(directory: Path, *, aggregator: int | None) -> Fleet:
    """Return a fleet that this process runs, with one worker that is not up yet."""
    shared, volume = directory / "shm", directory / "state"
    for folder in (shared, volume):
        folder.mkdir()
        (folder / "page").write_bytes(b"0" * 8192)
    worker = Worker(
        name="main-0",
        cohort="main",
        serve="Stable",
        train=True,
        worker_id="main-0",
        shm_directory=str(shared),
        state_directory=str(volume),
        engine=endpoint("engine-main-0", None),
        agent=endpoint("agent-main-0", None),
    )
    return Fleet(
        fleet="tiny",
        pid=os.getpid(),
        served_model_name="tiny",
        store=DirectoryLocation(path=directory / "store"),
        aggregator_address="",
        token_file="",
        aggregator=endpoint("aggregator", aggregator),
        workers=(worker,),
    )


def test_another_life_is_another_series() -> None:
    readings = Readings(began=100.0)
    for pid, value, at in ((7, 1.0, 101.0), (7, 2.0, 102.0), (9, 5.0, 103.0)):
        readings.take([Sample(MEMORY, "agent", "agent-0", Life(pid, 1), value)], now=at)

    assert readings.lives[MEMORY]["agent"]["agent-0"] == {
        Life(7, 1): [Point(1.0, 1.0), Point(2.0, 2.0)],
        Life(9, 1): [Point(3.0, 5.0)],
    }
    assert readings.last(MEMORY) == {"agent": {"agent-0": 5.0}}
    assert readings.last(THREADS) == {}


def test_everything_that_runs_is_read(tmp_path: Path) -> None:
    readings = Readings(began=0.0)

    readings.take(read(fleet(tmp_path, aggregator=os.getppid())), now=1.0)

    of_processes, of_all = {MEMORY, DESCRIPTORS, THREADS}, {SHARED, SHARED_FILES, STATE, PROCESSES}
    assert set(readings.lives) == of_processes | of_all
    assert set(readings.last(MEMORY)) == {"run", "aggregator"}
    assert readings.last(SHARED_FILES) == {FLEET: {FLEET: 1}}
    assert readings.last(STATE)[FLEET][FLEET] > 0
    assert {life.pid for life in readings.seen} == {os.getpid(), os.getppid()}


def test_what_has_just_ended_is_left_out(tmp_path: Path) -> None:
    readings, no_such_process = Readings(began=0.0), 2**22 + 1

    readings.take(read(fleet(tmp_path, aggregator=no_such_process)), now=1.0)

    assert set(readings.last(MEMORY)) == {"run"}
