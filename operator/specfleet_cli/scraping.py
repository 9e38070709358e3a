"""`prometheus.json`: where the metrics of a running fleet are, for a Prometheus with `file_sd`.

The labels are those that a fleet in a cluster has, so that the same queries fit both.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from specfleet_cli.plan import FleetPlan, ProcessPlan
from specfleet_common.files import write_file

FILE_NAME = "prometheus.json"
NAMESPACE = "local"

Group = dict[str, list[str] | dict[str, str]]
"""Targets with the labels that all of them get."""


def write_targets(path: Path, plan: FleetPlan) -> None:
    """Write the file; addresses stay what they are for as long as the fleet runs."""
    write_file(path, json.dumps(list(targets(plan)), indent=2).encode())


def targets(plan: FleetPlan) -> Iterator[Group]:
    """Return what to scrape: every engine and agent, and the aggregator."""
    for worker in plan.workers:
        labels = {"cohort": worker.cohort.name, "pod": worker.name}
        yield _group(plan, worker.engine, labels)
        yield _group(plan, worker.agent, labels)
    yield _group(plan, plan.aggregator, {"pod": plan.aggregator.name})


def _group(plan: FleetPlan, process: ProcessPlan, labels: dict[str, str]) -> Group:
    own = {"namespace": NAMESPACE, "fleet": plan.fleet, "container": process.kind.value}
    return {"targets": [urlsplit(process.url).netloc], "labels": own | labels}
