"""The whole product once, for real: run a fleet, let it learn from traffic, and check what it did.

Run as `python -m e2e.smoke`; writes a report and the logs of every process to --out.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from e2e import checks
from e2e.checks import Check, Revival
from e2e.cohorts import set_training_engines
from e2e.engines import ROOT
from e2e.fleets import prepare, ready, running, write_manifest
from e2e.killing import VICTIMS, kill
from e2e.observing import Observer
from specfleet_cli.endpoints import FILE_NAME, Fleet
from specfleet_cli.traffic.driving import Load, Result, Traffic, summary
from specfleet_cli.traffic.prompts import read_documents
from specfleet_cli.traffic.targets import engines_of, reference_of
from specfleet_common.lineage import short
from specfleet_common.store.opening import open_store
from specfleet_common.store.versions import lineages, published

MANIFEST = ROOT / "examples/fleet.yaml"
TEXTS = ROOT / "examples/text/hi.jsonl"

SHORTEST_TRAFFIC_SECONDS = 75.0


@dataclass(frozen=True, slots=True)
class Options:
    """What to run."""

    out: Path
    training_engines: int
    victims: tuple[str, ...]
    traffic_seconds: float
    keep: bool


@dataclass(frozen=True, slots=True)
class Story:
    """Everything that was seen."""

    fleet: Fleet
    ready_seconds: float
    outcome: Result
    traffic: Traffic
    observer: Observer
    revivals: tuple[Revival, ...]


def main() -> int:
    """Run the story, print and write the report; return 0 when every check passed."""
    options = parse(sys.argv[1:])
    prepare(options.out)
    change = partial(set_training_engines, number=options.training_engines)
    manifest = write_manifest(MANIFEST, options.out, change=change)
    with running(manifest, options.out) as process:
        story = asyncio.run(tell(process, options))
        done = check(story, options)
        report(story, done, options)
        if options.keep:
            say(f"the fleet runs on, see {options.out / FILE_NAME}; Ctrl-C ends it")
            with contextlib.suppress(KeyboardInterrupt):
                process.wait()
    return int(not all(one.passed for one in done))


def parse(arguments: Sequence[str]) -> Options:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(description="Run a fleet and check that it learns.")
    parser.add_argument("--out", type=Path, default=ROOT / "out/smoke")
    parser.add_argument("--engines", type=int, default=1, help="number of training engines")
    parser.add_argument(
        "--kill", default="", metavar="LIST", help=f"kill -9 some of {','.join(VICTIMS)}"
    )
    parser.add_argument(
        "--seconds", type=float, default=240.0, help="longest time of traffic, default %(default)s"
    )
    parser.add_argument("--keep", action="store_true", help="leave the fleet running")
    given = parser.parse_args(arguments)
    victims = tuple(filter(None, given.kill.split(",")))
    for victim in victims:
        if victim not in VICTIMS:
            parser.error(f"--kill: {victim!r} is none of {', '.join(VICTIMS)}")
    return Options(given.out.absolute(), given.engines, victims, given.seconds, given.keep)


async def tell(process: subprocess.Popen[bytes], options: Options) -> Story:
    """Wait for the engines, send traffic until enough has happened, and collect what was seen."""
    began = time.monotonic()
    fleet = await ready(process, options.out)
    ready_seconds = time.monotonic() - began
    say(f"all engines are ready after {ready_seconds:.0f} s")
    observer = Observer(fleet)
    observing = asyncio.create_task(observer.observe())
    load = Load(concurrency=6, max_tokens=64, seed=1, requests=None, report_every_seconds=5.0)
    traffic = Traffic(
        engines_of(fleet),
        read_documents(TEXTS),
        load,
        reference=reference_of(fleet),
        emit=say_progress,
    )
    stop = asyncio.Event()
    driving = asyncio.create_task(traffic.drive(stop))
    acting = asyncio.create_task(act(fleet, observer, options))
    await asyncio.wait(
        (acting, driving, observing),
        timeout=options.traffic_seconds,
        return_when=asyncio.FIRST_COMPLETED,
    )
    stop.set()
    outcome = await driving
    for task in (acting, observing):
        task.cancel()
    revivals, *_ = await asyncio.gather(acting, observing, return_exceptions=True)
    if isinstance(revivals, Exception):
        raise revivals
    # Cancelled: time was up before everybody was killed and back.
    killed = revivals if isinstance(revivals, tuple) else ()
    return Story(fleet, ready_seconds, outcome, traffic, observer, killed)


async def act(fleet: Fleet, observer: Observer, options: Options) -> tuple[Revival, ...]:
    """Wait for versions, kill whom the options name, and return when nothing more is to happen."""
    training = [worker for worker in fleet.workers if worker.train]

    def num_observed() -> int:
        new = [version for version in observer.published if version.number > 0]
        return sum(
            all(observer.has_run(worker.name, version) for worker in training) for version in new
        )

    revivals = []
    if options.victims:
        await observer.until(lambda: num_observed() >= 1, seconds=options.traffic_seconds)
    for victim in options.victims:
        revival = await kill(victim, training[0], options.out / FILE_NAME, observer)
        say(checks.check_revival(revival).detail)
        revivals.append(revival)
    before = num_observed() if options.victims else 0
    wanted = max(checks.WANTED_VERSIONS, before + 1)
    await observer.until(
        lambda: num_observed() >= wanted and observer.seconds >= SHORTEST_TRAFFIC_SECONDS,
        seconds=options.traffic_seconds,
    )
    return tuple(revivals)


def check(story: Story, options: Options) -> list[Check]:
    """Return every check of the story."""
    observer, outcome = story.observer, story.outcome
    training = [worker.name for worker in story.fleet.workers if worker.train]
    store = open_store(story.fleet.store, os.environ)
    stored = [number for lineage in lineages(store) for number in published(store, lineage)]
    done = [
        checks.check_versions(observer.published, stored),
        checks.check_stock(outcome.reference, observer.observations),
    ]
    for worker in training:
        done += [
            checks.check_observed(worker, observer.published, observer.observations),
            checks.check_swaps(worker, observer.observations),
            checks.check_acceptance(worker, outcome.reference, story.traffic.readings),
        ]
    done += [checks.check_outputs(outcome), checks.check_errors(outcome)]
    killed = {revival.victim: revival for revival in story.revivals}
    for victim in options.victims:
        never = Revival(victim, killed_at=0.0, back_after_seconds=None, detail="no time was left")
        done.append(checks.check_revival(killed.get(victim, never)))
    return done


def report(story: Story, done: Sequence[Check], options: Options) -> None:
    """Print a summary and write report.json."""
    observer = story.observer
    for one in observer.observations:
        say(
            f"at {one.seconds:5.1f} s {one.worker} runs {one.observed[:8]} "
            f"({short(one.digest)}) after {one.swaps} swaps"
        )
    for one_check in done:
        say(f"{'ok  ' if one_check.passed else 'FAIL'} {one_check.name}: {one_check.detail}")
    content = {
        "passed": all(one.passed for one in done),
        "ready_seconds": round(story.ready_seconds, 1),
        "checks": [asdict(one) for one in done],
        "published": [asdict(one) for one in observer.published],
        "observations": [asdict(one) for one in observer.observations],
        "revivals": [asdict(one) for one in story.revivals],
        "traffic": summary(story.outcome),
    }
    path = options.out / "report.json"
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2), encoding="utf-8")
    say(f"report: {path}")


def say_progress(line: dict[str, Any]) -> None:
    """Print one line about the traffic."""
    engines = ", ".join(
        f"{name}: {one['requests']} requests, {one['tokens_per_second']:.0f} tok/s, "
        f"acceptance {one['acceptance_length'] or 0:.2f}"
        for name, one in line["engines"].items()
    )
    say(f"{line['seconds']:5.0f} s {engines}")


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
