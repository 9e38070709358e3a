"""Runs a whole fleet for a story, by `specfleet run` as a user would, and waits for its engines."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import yaml

from e2e.cores import bind
from specfleet_cli.endpoints import FILE_NAME, EndpointsError, Fleet, Worker, read_fleet
from specfleet_cli.logs import tail
from specfleet_common.exchange import REPORT

MANIFEST_COPY = "fleet.yaml"
STORE = "store"

READY_WITHIN_SECONDS = 480.0
STOP_WITHIN_SECONDS = 60.0


def prepare(out: Path) -> None:
    """Empty the directory of an earlier story, or make a new one; refuse any other."""
    if out.exists():
        if not (out / MANIFEST_COPY).is_file():
            raise SystemExit(f"--out: {out} is not of an earlier run, it stays as it is")
        shutil.rmtree(out)
    out.mkdir(parents=True)


def write_manifest(source: Path, out: Path, *, change: Callable[[dict[str, Any]], None]) -> Path:
    """Write the manifest with what `change` does to its spec, a fresh store, and bound engines."""
    document = yaml.safe_load(source.read_text(encoding="utf-8"))
    spec = document["spec"]
    spec["target"]["model"] = str((source.parent / spec["target"]["model"]).resolve())
    spec["store"] = {"directory": {"path": str(out / STORE)}}
    change(spec)
    bind(spec, os.sched_getaffinity(0))
    path = out / MANIFEST_COPY
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


@contextlib.contextmanager
def running(manifest: Path, out: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run the fleet for the time of a `with` block; what it prints goes to run.log."""
    command = [sys.executable, "-m", "specfleet_cli", "run", str(manifest), "--out", str(out)]
    with (out / "run.log").open("wb") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(STOP_WITHIN_SECONDS)


async def ready(process: subprocess.Popen[bytes], out: Path) -> Fleet:
    """Return the fleet once every engine answers and every trainer has reported.

    Under traffic, a trainer that is still starting would hardly get to run.
    """
    deadline = time.monotonic() + READY_WITHIN_SECONDS
    async with httpx.AsyncClient(trust_env=False) as client:
        while time.monotonic() < deadline:
            if process.poll() is not None:
                break
            with contextlib.suppress(EndpointsError, httpx.HTTPError):
                fleet = read_fleet(out / FILE_NAME)
                for worker in fleet.workers:
                    answer = await client.get(f"{worker.engine.url}/health")
                    answer.raise_for_status()
                if all(map(_trainer_has_reported, fleet.workers)):
                    return fleet
            await asyncio.sleep(0.5)
    raise SystemExit("\n".join(["the fleet did not become ready:", *tail(out / "run.log", 40)]))


def _trainer_has_reported(worker: Worker) -> bool:
    return not worker.train or (Path(worker.state_directory) / REPORT).exists()
