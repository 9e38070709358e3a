"""Does anything grow when a fleet runs for hours and its processes are killed all the time?

`python -m e2e.soak --hours 4 --out out/soak` runs `specfleet run` with simulated engines (`--real`:
with vLLM) under traffic, and kills a trainer, an agent, an engine or the aggregator every few
minutes. Documented in docs/audits.md.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from e2e.fleets import prepare
from e2e.live import Stage, View
from e2e.report.writing import write_report
from e2e.soak.fleet import Options
from e2e.soak.report import COLUMNS, rows
from e2e.soak.soaking import RUNNING, STARTING, STOPPING, soak

STARTING_SECONDS, STOPPING_SECONDS = 60.0, 30.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the soak and write its report; 1 when something has grown or did not come back."""
    parser = argparse.ArgumentParser(prog="python -m e2e.soak", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/soak"))
    parser.add_argument("--hours", type=float, default=4.0)
    parser.add_argument("--kill-every-seconds", type=float, default=120.0)
    parser.add_argument("--read-every-seconds", type=float, default=5.0)
    parser.add_argument("--local-steps", type=int, default=20, help="of a round, %(default)s")
    parser.add_argument("--push-engines", type=int, default=1, help="%(default)s")
    parser.add_argument("--clients", type=int, default=2, help="of each engine, %(default)s")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--real", action="store_true", help="with vLLM in place of the simulator")
    given = vars(parser.parse_args(arguments))
    out, hours = given.pop("out").absolute(), given.pop("hours")
    options = Options(seconds=3600.0 * hours, **given)
    prepare(out)
    stages = [
        Stage(STARTING, STARTING_SECONDS),
        Stage(RUNNING, options.seconds),
        Stage(STOPPING, STOPPING_SECONDS),
    ]
    with View(Console(), stages, clock=time.monotonic) as view:
        view.begin(STARTING)
        report, page, found = asyncio.run(soak(out, options, view))
        for path in write_report(out, report, page):
            view.say(f"report: {path}")
        for row in rows(found.growths):
            view.say(", ".join(f"{name} {cell}" for name, cell in zip(COLUMNS, row, strict=True)))
        for problem in report["problems"]:
            view.say(f"FAIL {problem}")
    return int(bool(report["problems"]))


if __name__ == "__main__":
    sys.exit(main())
