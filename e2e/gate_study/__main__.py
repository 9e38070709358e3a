"""The gate study: how often the product's judge is wrong, and how soon it is right, in simulation.

`python -m e2e.gate_study --out out/gate-study` writes report.json and report.png, prints a table,
and fails if a claim does not hold. Documented in docs/promotion-statistics.md.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from e2e.gate_study.errors import error_findings
from e2e.gate_study.findings import FULL, QUICK, Finding
from e2e.gate_study.live import live_findings
from e2e.gate_study.plotting import plot
from e2e.gate_study.power import power_findings


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study; 0 says that every claim holds."""
    parser = argparse.ArgumentParser(prog="python -m e2e.gate_study", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/gate-study"))
    parser.add_argument("--quick", action="store_true", help="simulate less: for a first look")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    size = QUICK if options.quick else FULL
    began = time.monotonic()

    findings: list[Finding] = []
    for part in (error_findings, power_findings, live_findings):
        for finding in part(size, options.seed):
            findings.append(finding)
            print(line(finding), flush=True)

    options.out.mkdir(parents=True, exist_ok=True)
    plot(options.out / "report.png", findings, size, options.seed)
    report = {
        "passed": all(finding.holds for finding in findings),
        "seed": options.seed,
        "size": asdict(size),
        "findings": [document(one) for one in findings],
    }
    path = options.out / "report.json"
    path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(f"{time.monotonic() - began:.0f} s; report: {path}")
    return 0 if report["passed"] else 1


def document(finding: Finding) -> dict[str, object]:
    """Return a finding for JSON, which has no infinity: what was not reached is null."""
    detail = {
        name: figure if math.isfinite(figure) else None for name, figure in finding.detail.items()
    }
    return {**asdict(finding), "detail": detail, "holds": finding.holds}


def line(finding: Finding) -> str:
    """Return one row of the table."""
    naive = "" if finding.naive is None else f", naive {finding.naive:.4f}"
    side = "at most" if finding.at_most else "at least"
    limit = "no claim" if finding.limit is None else f"{side} {finding.limit}"
    held = "" if finding.limit is None else "holds" if finding.holds else "FAILS"
    return f"{held:5} {finding.value:7.4f} ({limit}{naive})  {finding.name}: {finding.claim}"


if __name__ == "__main__":
    sys.exit(main())
