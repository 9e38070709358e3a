"""Members come and go under traffic: does anybody else notice, and does learning go on?

Run as `python -m e2e.experiments.elastic`. An engine is killed with SIGKILL while another joins,
then the aggregator, then a trainer in the middle of a round. Each is timed until it is back;
what all engines answered is compared with the control's answers.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from e2e.cohorts import control, push
from e2e.documents import seen
from e2e.driving import drive
from e2e.experiments.disturbing import Happened, disturb
from e2e.experiments.elastic_report import Seen, content, page
from e2e.experiments.options import MANIFEST, Options, parse
from e2e.fleets import STORE, prepare, ready, running, write_manifest
from e2e.live import Stage, View
from e2e.observing import Observer, watching
from e2e.report.writing import write_report
from e2e.stored import Version, stored_versions

STARTING, RUNNING = "starting the fleet", "traffic while members come and go"
WALKING = "walking held-out documents"
LANGUAGES_WALKED = ("hi", "py")


def main() -> int:
    """Run the experiment and write its report; return 1 when a requirement does not hold."""
    options = parse("elastic", __doc__, sys.argv[1:], seconds=60.0)
    prepare(options.out)

    def change(spec: dict[str, Any]) -> None:
        spec["cohorts"] = [control(), push(2)]

    manifest = write_manifest(MANIFEST, options.out, change=change)
    stages = [
        Stage(STARTING, 120.0),
        Stage(RUNNING, 2 * options.seconds + 150.0),
        Stage(WALKING, 60.0 + 3.0 * options.documents),
    ]
    with View(Console(), stages, clock=time.monotonic) as view:
        view.begin(STARTING)
        with running(manifest, options.out) as process:
            found = asyncio.run(live(process, manifest, options, view))
        view.begin(WALKING)
        versions = stored_versions(options.out / STORE)
        walked = walk(versions, options, view)
        report = content(found, [version.number for version in versions], walked)
        for path in write_report(options.out, report, page(found, report)):
            view.say(f"report: {path}")
        for check in report["checks"]:
            view.say(f"{'ok  ' if check['passed'] else 'FAIL'} {check['name']}: {check['detail']}")
    return int(not all(check["passed"] for check in report["checks"]))


async def live(
    process: subprocess.Popen[bytes], manifest: Path, options: Options, view: View
) -> Seen:
    """Send traffic, and let members come and go meanwhile."""
    fleet = await ready(process, options.out)
    observer = Observer(fleet)
    happened = Happened()
    async with watching(observer):
        view.begin(RUNNING)
        leg = await drive(
            fleet,
            observer,
            seen("hi"),
            seconds=2 * options.seconds,
            concurrency=4,
            seed=options.seed,
            view=view,
            acting=lambda: disturb(
                fleet,
                observer,
                happened,
                manifest=manifest,
                calm_seconds=options.seconds,
                seed=options.seed + 1,
                say=view.say,
            ),
        )
    return Seen(fleet, observer, leg, happened)


def walk(versions: list[Version], options: Options, view: View) -> dict[str, dict[int, float]]:
    """Return the acceptance lengths of stock and of the last version."""
    from e2e.walking import walk_unseen

    return walk_unseen(
        {language: [versions[0], versions[-1]] for language in LANGUAGES_WALKED},
        options.out / "walking",
        documents=options.documents,
        view=view,
    )


if __name__ == "__main__":
    sys.exit(main())
