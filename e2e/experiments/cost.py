"""What capturing and training cost, and what serving the result gains, side by side.

Run as `python -m e2e.experiments.cost`. Three engines get the same Hindi traffic: `default` neither
captures nor trains, `train-only` does both and serves stock, `push` serves what it has learnt.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from functools import partial
from typing import Any

from rich.console import Console

from e2e.cohorts import push
from e2e.cpu import cpu_seconds
from e2e.documents import seen
from e2e.driving import drive, until_versions
from e2e.experiments.cost_report import (
    DEFAULT,
    STRETCH_SECONDS,
    TRAIN_ONLY,
    Seen,
    content,
    page,
)
from e2e.experiments.options import MANIFEST, Options, parse
from e2e.fleets import STORE, prepare, ready, running, write_manifest
from e2e.live import Stage, View
from e2e.observing import Observer, watching
from e2e.report.writing import write_report
from e2e.stored import stored_versions
from specfleet_cli.endpoints import Worker

STARTING, RUNNING = "starting the fleet", "three engines side by side"


def main() -> int:
    """Run the experiment and write its report; return 1 after an error or a differing answer."""
    options = parse("cost", __doc__, sys.argv[1:], seconds=360.0)
    prepare(options.out)

    def change(spec: dict[str, Any]) -> None:
        spec["cohorts"] = [
            {"name": DEFAULT, "replicas": 1, "train": False, "serve": "Stock"},
            {"name": TRAIN_ONLY, "replicas": 1, "train": True, "serve": "Stock"},
            push(1),
        ]

    manifest = write_manifest(MANIFEST, options.out, change=change)
    stages = [Stage(STARTING, 120.0), Stage(RUNNING, options.seconds)]
    with View(Console(), stages, clock=time.monotonic) as view:
        view.begin(STARTING)
        with running(manifest, options.out) as process:
            found = asyncio.run(compare(process, options, view))
        stored = [version.number for version in stored_versions(options.out / STORE)]
        report = content(found, stored, seed=options.seed)
        for path in write_report(options.out, report, page(found, report)):
            view.say(f"report: {path}")
    return int(report["request_errors"] > 0 or report["output_mismatches"] > 0)


async def compare(process: subprocess.Popen[bytes], options: Options, view: View) -> Seen:
    """Send the same traffic to all three engines."""
    fleet = await ready(process, options.out)
    observer = Observer(fleet)
    async with watching(observer):
        view.begin(RUNNING)
        moments: list[float] = []
        used: dict[str, list[float]] = {worker.cohort: [] for worker in fleet.workers}

        async def keep_reading() -> None:
            while True:
                moments.append(observer.seconds)
                for worker in fleet.workers:
                    used[worker.cohort].append(_cpu_seconds(worker))
                await asyncio.sleep(STRETCH_SECONDS)

        reading = asyncio.create_task(keep_reading())
        leg = await drive(
            fleet,
            observer,
            seen("hi"),
            seconds=options.seconds,
            concurrency=6,
            seed=options.seed,
            view=view,
            acting=partial(until_versions, observer, new=1),
        )
        reading.cancel()
    return Seen(fleet, observer, leg, moments, used)


def _cpu_seconds(worker: Worker) -> float:
    assert worker.engine.pid is not None, f"engine of {worker.name} does not run"
    return cpu_seconds(worker.engine.pid)


if __name__ == "__main__":
    sys.exit(main())
