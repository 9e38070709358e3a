"""The fleet of a soak: what `specfleet run` is given."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e.cohorts import push
from e2e.engines import ROOT
from e2e.fleets import write_manifest
from e2e.promoting.fleet import judging

MANIFEST = ROOT / "examples/demo.yaml"
BETTER = {"stock": [0.5, 0.2, 0.1], "default": [0.9, 0.8, 0.7]}
"""How often simulated engines accept drafts: what was learnt is better than stock."""
STABLE_ENGINES = 2


@dataclass(frozen=True, slots=True)
class Options:
    """How long, what is killed how often, and how short rounds are."""

    seconds: float
    kill_every_seconds: float
    read_every_seconds: float
    local_steps: int
    push_engines: int
    clients: int
    seed: int
    real: bool


def manifest(out: Path, options: Options) -> Path:
    """Write the manifest: engines that serve what was promoted, and others that swap every round.

    All of them train, candidates are judged without end, and rounds are short.
    """

    def change(spec: dict[str, Any]) -> None:
        spec.update(judging(STABLE_ENGINES))
        spec["cohorts"] = [push(options.push_engines)] if options.push_engines else []
        spec["promotion"]["canary"]["blockSeconds"] = 2
        spec["aggregation"]["localSteps"] = options.local_steps
        spec["aggregation"]["leaseSeconds"] = 15
        spec["aggregation"]["codec"] = "Ternary"
        spec["trainer"]["capture"]["holdoutPercent"] = 40
        if not options.real:
            acceptance = {"name": "SIMULATOR_ACCEPTANCE", "value": json.dumps(BETTER)}
            spec["engine"]["env"].append(acceptance)

    return write_manifest(MANIFEST, out, change=change)
