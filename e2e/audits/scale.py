"""Does the aggregator keep its heartbeats, its memory and its file descriptors with many agents?

`python -m e2e.audits.scale --out out/audit-scale.json` starts an aggregator, lets 200 simulated
agents beat every second, and has each hand in a delta in every round. `--part` makes the drafter
and the period smaller by the same factor, so that the load per second stays. Documented in
docs/audits.md.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from e2e.audits.beats import latencies
from e2e.audits.crowd import Upload
from e2e.audits.footprint import most
from e2e.audits.limits import problems
from e2e.audits.load import FULL_PERIOD_SECONDS, Options, measured
from e2e.audits.pair import conclude
from e2e.bench.drafter import DELTA_DEVIATION, DTYPE, WEIGHT_DEVIATION, random_tensors
from e2e.bench.machine import this_machine
from e2e.bench.processes import running_aggregator
from specfleet_common import tensors
from specfleet_common.codecs import deltas
from specfleet_common.codecs.codec import Codec
from specfleet_common.diloco.rule import Rule
from specfleet_common.lineage import Lineage, shapes_digest
from specfleet_common.tensors import Array


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the audit; 0 says that the aggregator kept what it should."""
    parser = argparse.ArgumentParser(prog="python -m e2e.audits.scale", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/audit-scale.json"))
    parser.add_argument("--agents", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--part", type=float, default=1.0, help="of the load, %(default)s")
    parser.add_argument("--codec", type=Codec, choices=list(Codec), default=Codec.TERNARY)
    parser.add_argument("--combine", type=Rule, choices=list(Rule), default=Rule.MEAN)
    parser.add_argument("--watchers", type=int, default=1, help="such as the operator, %(default)s")
    parser.add_argument(
        "--patience-seconds", type=float, default=1800.0, help="for a version, %(default)s"
    )
    parser.add_argument("--seed", type=int, default=1)
    given = vars(parser.parse_args(arguments))
    out = given.pop("out")
    options = Options(**given)
    with tempfile.TemporaryDirectory() as folder:
        report = audit(Path(folder), options)
    return conclude(out, report, lines(report))


def audit(folder: Path, options: Options) -> dict[str, Any]:
    """Measure in `folder`, and report."""
    stock, delta = folder / "stock.safetensors", folder / "delta"
    weights = smaller(random_tensors(1, deviation=WEIGHT_DEVIATION), options.part)
    stock.write_bytes(tensors.encode(weights, DTYPE))
    shapes = {name: array.shape for name, array in weights.items()}
    changes = smaller(random_tensors(2, deviation=DELTA_DEVIATION), options.part)
    delta.write_bytes(deltas.encode(changes, options.codec))
    del weights, changes
    lineage = Lineage("0" * 64, "mtp", "mimo", DTYPE, shapes_digest(shapes))
    upload = Upload.of(delta, options.codec)
    with running_aggregator(folder, quorum=options.agents, combine=options.combine) as (
        process,
        address,
    ):
        seen = asyncio.run(measured(address, process.pid, lineage, stock, upload, options))
    by_part = latencies(seen.beats, seen.spans)
    return {
        "problems": problems(seen, by_part, options),
        "machine": asdict(this_machine()),
        **asdict(options),
        "scaled": scaled(sum(map(_size, shapes.values())), upload, options),
        "heartbeats": {name: asdict(one) for name, one in by_part.items()},
        "client_lag_seconds": {
            "p99": sorted(seen.lag_seconds)[int(0.99 * len(seen.lag_seconds))],
            "longest": max(seen.lag_seconds),
        },
        "spans": [asdict(span) | {"seconds": span.seconds} for span in seen.spans],
        "versions": seen.version,
        "watched_states": seen.states,
        "fewest_live_workers": seen.fewest_live,
        "before": asdict(seen.held[0]),
        "after_rounds": [asdict(one) for one in seen.held[1:]],
        "most": asdict(most(seen.all_along)),
    }


def smaller(whole: Mapping[str, Array], part: float) -> dict[str, Array]:
    """Return the first rows of every tensor, so many that their part of the numbers is left."""
    return {name: array[: max(1, round(part * len(array)))] for name, array in whole.items()}


def scaled(parameters: int, upload: Upload, options: Options) -> dict[str, Any]:
    """Say what is smaller than in the full load, and what is as large."""
    round_bytes = options.agents * upload.path.stat().st_size
    return {
        "parameters": parameters,
        "period_seconds": options.period_seconds,
        "full_period_seconds": FULL_PERIOD_SECONDS,
        "delta_bytes": upload.path.stat().st_size,
        "round_bytes": round_bytes,
        "wanted_bytes_per_second": round_bytes / options.period_seconds,
        "as_large": ["agents", "heartbeats per second", "values per second", "deltas per round"],
        "smaller": ["values per delta", "seconds per round"] if options.part < 1 else [],
    }


def lines(report: Mapping[str, Any]) -> list[str]:
    """Return a line for every part of the rounds, and one for what was held."""
    beats = [
        f"heartbeats, {name}: {one['beats']} of them, {one['failed']} failed, "
        f"p50 {one['p50_seconds'] * 1e3:.0f} ms, p99 {one['p99_seconds'] * 1e3:.0f} ms, "
        f"longest {one['longest_seconds'] * 1e3:.0f} ms"
        for name, one in report["heartbeats"].items()
    ]
    spans = [
        f"{span['name']}: {span['seconds']:.1f} s, {span['cpu_seconds']:.1f} s of a core"
        for span in report["spans"]
    ]
    peak = report["most"]
    return [
        *beats,
        *spans,
        f"most: {peak['anonymous_bytes'] / 2**20:.0f} MiB not of files, "
        f"{peak['file_descriptors']} file descriptors",
    ]


def _size(shape: tuple[int, ...]) -> int:
    outer, inner = shape
    return outer * inner


if __name__ == "__main__":
    sys.exit(main())
