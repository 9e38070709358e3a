"""The main job as one command: a fleet learns from Hindi traffic, is measured, and judged.

Run as `python -m e2e.demo`; --out gets report.json, report.html, and the logs of every process.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from e2e.blocks import Block
from e2e.cohorts import cohorts_of, set_training_engines
from e2e.comparing import Arm, Comparison, compare
from e2e.demo_page import page, summary
from e2e.demo_recording import FILE_NAME as RECORDING
from e2e.demo_recording import save
from e2e.demo_report import NONE, STOCK, Facts, Judged, content, told
from e2e.documents import LANGUAGES, beginnings, seen, unseen
from e2e.driving import MAX_TOKENS, Leg, drive, until_versions
from e2e.engines import ROOT, running_engine
from e2e.fleets import STORE, prepare, ready, running, write_manifest
from e2e.live import Picture, Stage, View
from e2e.moments import Moment, is_on_canary, moment
from e2e.observing import Observer, watching
from e2e.promoting.fleet import copy_until, set_judging
from e2e.promoting.story import Learnt, Story
from e2e.promoting.story import tell as tell_candidates
from e2e.promoting.watching import PATIENCE_SECONDS
from e2e.report.writing import write_report
from e2e.stored import Version, spread, stored_versions
from specfleet_cli.endpoints import Fleet
from specfleet_cli.promotions.plotting import evidence
from specfleet_common.store.directory import DirectoryStore

MANIFEST = ROOT / "examples/demo.yaml"

LEAST_VERSIONS = 2
OTHERS_WALKED = 12
"""So many versions are walked over the languages that the fleet does not see."""

STARTING, LEARNING = "starting the fleet", "learning from Hindi traffic"
COMPARING, WALKING = "comparing with stock, nothing trains", "walking held-out documents"
JUDGING = "judging three candidates in a fleet that serves what is stable"


@dataclass(frozen=True, slots=True)
class Options:
    """What to run."""

    out: Path
    training_engines: int
    seconds: float
    rounds: int
    unseen_documents: int
    judging_engines: int
    seed: int


def parse(arguments: Sequence[str]) -> Options:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "out/demo")
    parser.add_argument("--train-engines", type=int, default=1, help="engines that learn")
    parser.add_argument(
        "--seconds",
        type=float,
        default=300.0,
        help="of traffic, default %(default)s; longer until there are two versions",
    )
    parser.add_argument(
        "--rounds", type=int, default=6, help="blocks of each drafter in the comparison"
    )
    parser.add_argument(
        "--documents",
        type=int,
        default=36,
        help="held-out documents of each language, default %(default)s",
    )
    parser.add_argument(
        "--judging-engines",
        type=int,
        default=2,
        help="of the fleet that judges candidates, default %(default)s; 0 leaves it out",
    )
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    return Options(
        out=given.out.absolute(),
        training_engines=given.train_engines,
        seconds=given.seconds,
        rounds=given.rounds,
        unseen_documents=given.documents,
        judging_engines=given.judging_engines,
        seed=given.seed,
    )


def main() -> int:
    """Run the demo, print and write the report; return 1 after an error or a differing answer."""
    options = parse(sys.argv[1:])
    prepare(options.out)
    change = partial(set_training_engines, number=options.training_engines)
    manifest = write_manifest(MANIFEST, options.out, change=change)
    console = Console()
    with View(console, stages(options), clock=time.monotonic) as view:
        facts = tell(manifest, options, view)
    save(options.out / RECORDING, facts)
    report = content(facts)
    paths = write_report(options.out, report, page(facts, report))
    console.print(Text(summary(report)), soft_wrap=True)
    for path in paths:
        console.print(f"report: {path}", soft_wrap=True)
    return int(report["request_errors"] > 0 or report["output_mismatches"] > 0)


def stages(options: Options) -> list[Stage]:
    """Return the parts of the demo with the time that each takes on two cores."""
    return [
        Stage(STARTING, 60.0 + 30.0 * options.training_engines),
        Stage(LEARNING, options.seconds),
        Stage(COMPARING, 100.0 + 20.0 * options.rounds),
        Stage(WALKING, 60.0 + 3.0 * options.unseen_documents),
        *([Stage(JUDGING, 300.0)] if options.judging_engines else []),
    ]


def tell(manifest: Path, options: Options, view: View) -> Facts:
    """Run all parts, one after the other, and return what was seen."""
    began = time.monotonic()
    view.begin(STARTING)
    with running(manifest, options.out) as process:
        fleet, ready_seconds, observer, leg, last_moment = asyncio.run(
            learn(process, options, view)
        )
    versions = stored_versions(options.out / STORE)

    view.begin(COMPARING)
    compared = compare_versions(versions[0], versions[-1], options, view)

    view.begin(WALKING)
    # Torch would take its memory from the fleet.
    from e2e.walking import walk_unseen

    others = spread(versions, OTHERS_WALKED)
    walked = walk_unseen(
        {language: versions if language == "hi" else others for language in LANGUAGES},
        options.out / "walking",
        documents=options.unseen_documents,
        view=view,
    )
    judged = judge(versions[-1].number, options, view) if options.judging_engines else None
    return Facts(
        cohorts=cohorts_of(fleet),
        seconds=time.monotonic() - began,
        ready_seconds=ready_seconds,
        counts=tuple(observer.counts),
        trainings=tuple(observer.trainings),
        published=tuple(observer.published),
        observations=tuple(observer.observations),
        leg=leg,
        moment=last_moment,
        versions=tuple((version.number, version.digest) for version in versions),
        compared=compared,
        walked=walked,
        judged=judged,
        seed=options.seed,
    )


async def learn(
    process: Any, options: Options, view: View
) -> tuple[Fleet, float, Observer, Leg, Moment | None]:
    """Wait for the engines, send them Hindi traffic, and watch."""
    began = time.monotonic()
    fleet = await ready(process, options.out)
    ready_seconds = time.monotonic() - began
    observer = Observer(fleet)
    async with watching(observer):
        view.begin(LEARNING)
        leg = await drive(
            fleet,
            observer,
            seen("hi"),
            seconds=options.seconds,
            concurrency=6,
            seed=options.seed,
            view=view,
            acting=partial(until_versions, observer, new=LEAST_VERSIONS),
        )
        last_moment = moment(fleet, observer)
    return fleet, ready_seconds, observer, leg, last_moment


def compare_versions(stock: Version, last: Version, options: Options, view: View) -> Comparison:
    """Compare the last version with stock, and both with no speculation, on held-out documents."""
    prompts = beginnings(unseen("hi")[: options.unseen_documents])
    arguments = ("--no-enable-prefix-caching",)
    folders = [options.out / "comparing" / name for name in ("speculating", "plain")]
    for folder in folders:
        folder.mkdir(parents=True)

    def report(block: Block) -> None:
        view.show(
            Picture(
                f"round {block.round + 1} of {options.rounds}, {block.arm}: "
                f"{block.tokens_per_second:.0f} tok/s"
            )
        )

    view.say("one engine starts with the plugin, one without speculation")
    with (
        running_engine(folders[0], *arguments, capture=False) as engine,
        running_engine(folders[1], *arguments, speculate=False) as plain,
    ):
        return compare(
            [
                Arm(STOCK, engine, bytes(stock.weights), stock.digest),
                Arm(f"version {last.number}", engine, bytes(last.weights), last.digest),
                Arm(NONE, plain, None),
            ],
            prompts,
            rounds=options.rounds,
            max_tokens=MAX_TOKENS,
            seed=options.seed,
            report=report,
        )


def judge(last: int, options: Options, view: View) -> Judged:
    """Have another fleet judge an early version, a damaged one, and the last one made slow."""
    view.begin(JUDGING)
    out = options.out / "judging"
    prepare(out)
    first = max(1, last // 3)
    copy_until(options.out / STORE, out / STORE, number=first)
    manifest = write_manifest(
        MANIFEST, out, change=partial(set_judging, engines=options.judging_engines)
    )
    with running(manifest, out) as process:
        return asyncio.run(
            judge_all(process, Learnt(options.out / STORE, first, last), out, options, view)
        )


async def judge_all(
    process: Any, learnt: Learnt, out: Path, options: Options, view: View
) -> Judged:
    """Wait for the engines, send them Hindi traffic, and follow the candidates."""
    fleet = await ready(process, out)
    observer = Observer(fleet)
    stories: list[Story] = []
    moments: list[Moment | None] = []

    async def keep_canary() -> None:
        await observer.until(lambda: is_on_canary(observer.state), seconds=PATIENCE_SECONDS)
        moments.append(moment(fleet, observer))

    async def follow_all() -> None:
        keeping = asyncio.create_task(keep_canary())
        try:
            stories.append(await tell_candidates(fleet, observer, learnt, out, say=view.say))
        finally:
            keeping.cancel()

    async with watching(observer):
        leg = await drive(
            fleet,
            observer,
            seen("hi"),
            seconds=1.0,
            concurrency=6,
            seed=options.seed + 1,
            view=view,
            acting=follow_all,
        )
    (story,) = stories
    names, store = [one.promotion.id for one in told(story)], DirectoryStore(out / STORE)
    return Judged(
        story=story,
        leg=leg,
        panels={name: evidence(store, name) for name in names},
        moment=next(iter(moments), None),
    )


if __name__ == "__main__":
    sys.exit(main())
