"""A fleet of this machine under a real Prometheus for minutes: `python -m e2e.dashboards`.

It learns from traffic and judges what it learns. --out gets panels.md, what every panel returned
and how many series there are, and recording.json.gz, from which the pictures are drawn.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e.cluster.control_plane import control_plane
from e2e.cluster.programs import binaries
from e2e.cluster_traffic.background import running_traffic
from e2e.cluster_traffic.driving import Load
from e2e.dashboards.asking import Answer, Shown, ask
from e2e.dashboards.counting import count
from e2e.dashboards.operating import operator_of
from e2e.dashboards.pictures import RECORDING
from e2e.dashboards.prometheus import Prometheus, running_prometheus
from e2e.dashboards.recording import record, to_json
from e2e.dashboards.results import missed, table
from e2e.engines import ROOT
from e2e.fleets import prepare, ready, running, write_manifest
from e2e.promoting.fleet import judging
from specfleet_cli.scraping import FILE_NAME as TARGETS_FILE
from specfleet_cli.scraping import NAMESPACE
from specfleet_cli.traffic.prompts import read_documents
from tools.dashboards.pages import DASHBOARDS

MANIFEST = ROOT / "examples/demo.yaml"
TEXTS = ROOT / "examples/text/hi.jsonl"
FLEET = "demo"
LOAD = Load(clients=3, max_tokens=48, distinct_prompts=400)

SCRAPE_SECONDS = 5.0
NUM_POINTS = 60
"""Of a curve: enough for a picture, few enough to keep."""


@dataclass(frozen=True, slots=True)
class Options:
    """What to run."""

    out: Path
    seconds: float


def parse(arguments: Sequence[str]) -> Options:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "out/observe")
    parser.add_argument(
        "--seconds", type=float, default=480.0, help="of traffic, default %(default)s"
    )
    given = parser.parse_args(arguments)
    return Options(given.out.absolute(), given.seconds)


def main() -> int:
    """Run the fleet, write what the panels showed; return 1 when one was empty."""
    options = parse(sys.argv[1:])
    prepare(options.out)
    manifest = write_manifest(MANIFEST, options.out, change=judge_beside_a_control)
    with ExitStack() as stack:
        directory = options.out / "control-plane"
        plane = stack.enter_context(control_plane(binaries(), directory, environment=os.environ))
        operator = stack.enter_context(operator_of(FLEET, plane, options.out / "operator"))
        server = stack.enter_context(
            running_prometheus(
                options.out / "prometheus",
                targets_file=options.out / TARGETS_FILE,
                targets=(operator,),
                scrape_seconds=SCRAPE_SECONDS,
            )
        )
        process = stack.enter_context(running(manifest, options.out))
        shown = watch(process, options)
        answers = ask(server, DASHBOARDS, shown)
        report(server, answers, shown, options.out)
    gaps = missed(answers)
    for gap in gaps:
        print(f"EMPTY {gap}")
    return int(bool(gaps))


def judge_beside_a_control(spec: dict[str, Any]) -> None:
    """Have one engine learn and serve what is promoted, and one serve stock for comparison."""
    spec.update(judging(1))
    spec["cohorts"] = [{"name": "control", "replicas": 1, "train": False, "serve": "Stock"}]
    spec["trainer"]["capture"]["holdoutPercent"] = 40
    spec["trainer"]["publishEverySteps"] = 0


def watch(process: subprocess.Popen[bytes], options: Options) -> Shown:
    """Send traffic to every engine for a while; return the time in which there was some."""
    fleet = asyncio.run(ready(process, options.out))
    began = time.time()
    print(f"all engines are ready; {options.seconds:.0f} s of traffic begin", flush=True)
    documents = read_documents(TEXTS)
    with ExitStack() as traffic:
        for worker in fleet.workers:
            traffic.enter_context(running_traffic(worker.engine.url, LOAD, documents))
        process_ended = _waited(process, options.seconds)
        ended = time.time()
    if process_ended:
        raise SystemExit(f"the fleet has ended, see {options.out / 'run.log'}")
    step = max(SCRAPE_SECONDS, round((ended - began) / NUM_POINTS))
    return Shown(NAMESPACE, FLEET, began, ended, step, SCRAPE_SECONDS)


def report(server: Prometheus, answers: Sequence[Answer], shown: Shown, out: Path) -> None:
    """Write what was seen, and say where."""
    series = count(server, shown.end)
    text = f"{shown.end - shown.start:.0f} s of traffic\n\n{table(answers)}\n### series\n\n{series}"
    (out / "panels.md").write_text(text, encoding="utf-8")
    content = to_json(record(answers, shown)).encode()
    (out / RECORDING.name).write_bytes(gzip.compress(content, mtime=0))
    print(text)
    print(f"report: {out / 'panels.md'}\nrecording: {out / RECORDING.name}")


def _waited(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait for some time, or until a process has ended; say whether it has."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
