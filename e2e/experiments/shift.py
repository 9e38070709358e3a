"""Traffic that changes: Hindi, then Python, then Japanese. What is learnt, and what is forgotten?

Run as `python -m e2e.experiments.shift`. After each phase the version of then is walked over
held-out documents of all three.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from functools import partial
from typing import Any

from rich.console import Console

from e2e.cohorts import control, push
from e2e.documents import LANGUAGES, seen
from e2e.driving import drive, until_versions
from e2e.experiments.options import MANIFEST, Options, parse
from e2e.experiments.shift_report import PHASES, Seen, content, page
from e2e.fleets import STORE, prepare, ready, running, write_manifest
from e2e.live import Stage, View
from e2e.observing import Observer, watching
from e2e.report.writing import write_report
from e2e.stored import stored_versions

STARTING, WALKING = "starting the fleet", "walking held-out documents"


def main() -> int:
    """Run the experiment and write its report; return 1 after an error or a differing answer."""
    options = parse("shift", __doc__, sys.argv[1:], seconds=130.0)
    prepare(options.out)

    def change(spec: dict[str, Any]) -> None:
        spec["cohorts"] = [control(), push(1)]

    manifest = write_manifest(MANIFEST, options.out, change=change)
    stages = [
        Stage(STARTING, 90.0),
        *(Stage(_phase(language), options.seconds) for language in PHASES),
        Stage(WALKING, 60.0 + 3.0 * options.documents),
    ]
    with View(Console(), stages, clock=time.monotonic) as view:
        view.begin(STARTING)
        with running(manifest, options.out) as process:
            seen_ = asyncio.run(learn(process, options, view))
        view.begin(WALKING)
        walked = walk(seen_, options, view)
        report = content(seen_, walked)
        for path in write_report(options.out, report, page(seen_, report)):
            view.say(f"report: {path}")
    return int(report["request_errors"] > 0 or report["output_mismatches"] > 0)


async def learn(process: subprocess.Popen[bytes], options: Options, view: View) -> Seen:
    """Send the phases' traffic one after the other."""
    fleet = await ready(process, options.out)
    observer = Observer(fleet)
    legs, last_versions = [], []
    async with watching(observer):
        for language in PHASES:
            view.begin(_phase(language))
            legs.append(
                await drive(
                    fleet,
                    observer,
                    seen(language),
                    seconds=options.seconds,
                    concurrency=6,
                    seed=options.seed,
                    view=view,
                    acting=partial(until_versions, observer, new=1),
                )
            )
            last_versions.append(max(version.number for version in observer.published))
    return Seen(fleet, observer, tuple(legs), tuple(last_versions))


def walk(found: Seen, options: Options, view: View) -> dict[str, dict[int, float]]:
    """Return the acceptance lengths of stock and of the version that each phase ended with."""
    from e2e.walking import walk_unseen

    wanted = {0, *found.last_versions}
    versions = [one for one in stored_versions(options.out / STORE) if one.number in wanted]
    return walk_unseen(
        dict.fromkeys(PHASES, versions),
        options.out / "walking",
        documents=options.documents,
        view=view,
    )


def _phase(language: str) -> str:
    return f"learning from {LANGUAGES[language]} traffic"


if __name__ == "__main__":
    sys.exit(main())
