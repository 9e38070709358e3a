"""A planned fleet whose processes are fakes, and a program that runs it; also run by path.

Arguments of the program: the output directory and the shared directory.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from rich.console import Console

from specfleet_cli.children import Guard
from specfleet_cli.place import claimed, free_ports, make_directories, write_files
from specfleet_cli.plan import FleetPlan, Kind, ProcessPlan, WorkerPlan
from specfleet_cli.running import Run
from specfleet_common.api.fleet import Cohort
from specfleet_common.api.testing import learning
from specfleet_common.reaping import adopt_orphans
from specfleet_common.store.location import DirectoryLocation

FAKE = Path(__file__).parent / "fake_process.py"
MODULES = Path(__file__).parents[2], Path(__file__).parents[3] / "common"


def fake_process(kind: Kind, out: Path, port: int, *manner: str) -> ProcessPlan:
    """Return the plan of one fake process, which writes `<kind>.pids`."""
    command = (sys.executable, "-S", str(FAKE), str(port), str(out / f"{kind}.pids"), *manner)
    return ProcessPlan(
        name=kind.value,
        kind=kind,
        command=command,
        environment={},
        log=out / "logs" / f"{kind}.log",
        url=f"http://127.0.0.1:{port}",
        health_path="/health",
        stop_seconds=5.0,
    )


def fake_fleet(out: Path, shm_directory: Path) -> FleetPlan:
    """Return a fleet of one worker."""
    unused, *ports = free_ports(4)
    aggregator, engine, agent = (
        fake_process(kind, out, port) for kind, port in zip(Kind, ports, strict=True)
    )
    return FleetPlan(
        fleet="fake",
        served_model_name="fake",
        store=DirectoryLocation(path=out / "store"),
        settings=learning(),
        settings_file=out / "settings.json",
        token_file=out / "token",
        aggregator=aggregator,
        aggregator_address=f"127.0.0.1:{unused}",
        workers=(
            WorkerPlan(
                name="main-0",
                cohort=Cohort.model_construct(name="main"),
                worker_id="main-0-abc",
                shm_directory=shm_directory / "main-0",
                state_directory=out / "state" / "main-0",
                engine=engine,
                agent=agent,
            ),
        ),
    )


def lives(pid: int) -> bool:
    """Say whether a process exists and is no zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rsplit(")", 1)[1].split()[0] != "Z"


def main(out: Path, shm_directory: Path) -> int:
    """Run the fleet as `specfleet run` does, until a signal."""
    with claimed(out, DirectoryLocation(path=out / "store")):
        todo = fake_fleet(out, shm_directory)
        adopt_orphans()
        guard = Guard()
        guard.watch_directory(shm_directory)
        try:
            make_directories(todo)
            write_files(todo)
            return asyncio.run(Run(todo, out, Console()).run(guard, dict(os.environ)))
        finally:
            guard.finish()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
