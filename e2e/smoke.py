"""The whole product once, for real: run a fleet, let it learn from traffic, and check what it did.

Run as `python -m e2e.smoke`; writes a report and the logs of every process to --out.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml

from e2e import checks
from e2e.checks import Check, Revival
from e2e.killing import VICTIMS, kill
from e2e.observing import Observer
from specfleet_cli.endpoints import FILE_NAME, EndpointsError, Fleet, read_fleet
from specfleet_cli.logs import tail
from specfleet_cli.traffic.driving import Load, Result, Traffic, summary
from specfleet_cli.traffic.prompts import read_documents
from specfleet_cli.traffic.targets import engines_of, reference_of
from specfleet_common.lineage import short

ROOT = Path(__file__).resolve().parent.parent
MANIFEST = ROOT / "examples/fleet.yaml"
MANIFEST_COPY = "fleet.yaml"
TEXTS = ROOT / "examples/text/hi.jsonl"

READY_WITHIN_SECONDS = 480.0
STOP_WITHIN_SECONDS = 60.0
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
    if options.out.exists():
        if not (options.out / MANIFEST_COPY).is_file():
            raise SystemExit(
                f"--out: {options.out} is not of an earlier smoke run, it stays as it is"
            )
        shutil.rmtree(options.out)
    options.out.mkdir(parents=True)
    manifest = write_manifest(options)
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


def write_manifest(options: Options) -> Path:
    """Write the example's manifest with a fresh store and the wished number of engines."""
    document = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))
    spec = document["spec"]
    spec["target"]["model"] = str((MANIFEST.parent / spec["target"]["model"]).resolve())
    spec["store"]["directory"]["path"] = str(options.out / "store")
    for cohort in spec["cohorts"]:
        if cohort["train"]:
            cohort["replicas"] = options.training_engines
    path = options.out / MANIFEST_COPY
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


async def ready(process: subprocess.Popen[bytes], out: Path) -> Fleet:
    """Return the fleet once every engine answers."""
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
                return fleet
            await asyncio.sleep(0.5)
    raise SystemExit("\n".join(["the fleet did not become ready:", *tail(out / "run.log", 40)]))


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
    stored = sorted(
        int(path.parent.name)
        for path in Path(story.fleet.store_directory).glob("**/versions/*/manifest.json")
    )
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
