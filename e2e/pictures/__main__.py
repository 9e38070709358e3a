"""Draws the pictures of the documentation again: `python -m e2e.pictures`.

From the recording of a demo come the terminal, the report and some of its plots; from the
recording of a scraped fleet the dashboards. --recording takes another demo's.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

import yaml

from e2e.browser.devtools import Connection, connected
from e2e.browser.pages import Scheme
from e2e.dashboards.pictures import write_pictures as write_dashboards
from e2e.demo import MANIFEST
from e2e.demo_page import page, sections
from e2e.demo_recording import load
from e2e.demo_report import Facts, content
from e2e.engines import ROOT
from e2e.pictures import reports
from e2e.pictures.recorded import DEMO
from e2e.pictures.terminal import terminal_svg
from e2e.promoting.fleet import set_judging
from specfleet_cli.drawing import standalone
from specfleet_common.api.loading import parse_fleet
from tools.browser import binary

PLOTS = {
    "Acceptance length": "report-acceptance.svg",
    "Held-out documents, version by version": "report-held-out.svg",
    "Speed with training paused": "report-speed.svg",
    "A candidate that was learnt": "promotion-promoted.svg",
    "A candidate that is better, and slow": "promotion-rejected.svg",
}
"""How the title of a section begins -> the file of its plot."""
COMMAND = "specfleet run examples/demo.yaml"
JUDGING_ENGINES = 2


def main() -> int:
    """Write the pictures and print where they are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recording", type=Path, default=DEMO, help="default %(default)s")
    parser.add_argument("--out", type=Path, default=ROOT / "docs/pictures")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    facts = load(given.recording)
    found: dict[str, bytes] = {
        name: text.encode() for name, text in {**plots(facts), **terminals(facts)}.items()
    }
    with connected(binary(os.environ)) as browser:
        found |= _screenshots(browser, facts)
    for name, picture in found.items():
        (given.out / name).write_bytes(picture)
    for path in sorted([*(given.out / name for name in found), *write_dashboards(given.out)]):
        print(f"{path}: {path.stat().st_size:,} bytes")
    return 0


def plots(facts: Facts) -> dict[str, str]:
    """Return some plots of the report, by the names of their files."""
    return {
        file: standalone(section.plot.wide)
        for section in sections(facts, content(facts))
        for beginning, file in PLOTS.items()
        if section.plot is not None and section.title.startswith(beginning)
    }


def terminals(facts: Facts) -> dict[str, str]:
    """Return what a terminal showed of the fleet that learns, and of the one that judges."""
    manifest = MANIFEST.read_text(encoding="utf-8")
    judging = yaml.safe_load(manifest)
    set_judging(judging["spec"], engines=JUDGING_ENGINES)
    shown = {
        "terminal-learning.svg": (manifest, facts.moment),
        "terminal-promotion.svg": (
            yaml.safe_dump(judging),
            facts.judged.moment if facts.judged else None,
        ),
    }
    return {
        file: terminal_svg(parse_fleet(text, source=str(MANIFEST)), moment, command=COMMAND)
        for file, (text, moment) in shown.items()
        if moment is not None
    }


def _screenshots(browser: Connection, facts: Facts) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.html")
        report.write_text(page(facts, content(facts)), encoding="utf-8")
        return {
            **{
                f"report-{scheme}.png": reports.window(browser, report, scheme) for scheme in Scheme
            },
            "report-phone.png": reports.phones(browser, report),
        }


if __name__ == "__main__":
    sys.exit(main())
