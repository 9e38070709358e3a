"""What a round costs in bytes with every codec, and what the codec costs in learning.

Run as `python -m e2e.experiments.bytes`. Two workers are federated offline on captured Hindi
requests, on the same seeds with every codec; versions are walked over documents never trained on.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from statistics import fmean
from typing import Any

from rich.console import Console

from e2e.experiments.federating import Plan, Recipe, patch_bytes
from e2e.experiments.offline import (
    Run,
    conclude,
    material,
    mean_gain,
    parse,
    plan_of,
    run_all,
    what_ran,
)
from e2e.report.figures import by_number
from e2e.report.page import Section, Table, render
from specfleet_common.codecs.codec import Codec
from specfleet_common.tensors import decode, encode

COLUMNS = (
    "codec",
    "up, kB",
    "times smaller",
    "bits per weight",
    "held-out gain",
    "less than Float32",
)
DOWN_COLUMNS = ("serving dtype", "whole, kB", "patch, kB", "times smaller")


def main() -> int:
    """Run the experiment, write its report and show its table."""
    options, console = parse("bytes", __doc__, sys.argv[1:], rounds=6), Console()
    given, plan = material(options, console), plan_of(options)
    recipes = {codec.value: Recipe(codec=codec) for codec in Codec}
    runs = run_all(recipes, options, plan, given, console)

    num_weights = sum(array.size for array in given.stock.values())
    up = up_figures(runs, num_weights)
    down = down_figures(runs[Codec.FLOAT32.value])
    content = what_ran(options, plan, runs) | {
        "weights": num_weights,
        "codecs": up,
        "versions": down,
    }
    conclude(console, options, content, rendered(content, plan), COLUMNS, up_rows(up))
    return 0


def up_figures(runs: dict[str, list[Run]], num_weights: int) -> dict[str, dict[str, Any]]:
    """Return for every codec the bytes of one worker's delta and the gain of the last version."""
    reference = mean_gain(runs[Codec.FLOAT32.value])
    plain = _up_bytes(runs[Codec.FLOAT32.value])
    return {
        name: {
            "up_bytes_per_round": _up_bytes(some),
            "times_smaller": plain / _up_bytes(some),
            "bits_per_weight": 8 * _up_bytes(some) / num_weights,
            "held_out_gain_percent": mean_gain(some),
            "gains_percent": [run.gain_percent for run in some],
            "loss_points": reference - mean_gain(some),
        }
        for name, some in runs.items()
    }


def down_figures(runs: list[Run]) -> dict[str, dict[str, float]]:
    """Return for every serving dtype the bytes of a version, and of the patch from the last one."""
    return {dtype: _down(runs, dtype) for dtype in ("float32", "bfloat16")}


def _down(runs: list[Run], dtype: str) -> dict[str, float]:
    patches, sizes = [], []
    for run in runs:
        versions = [encode(decode(round_.version), dtype) for round_ in run.rounds]
        patches += [patch_bytes(*pair) for pair in pairwise(versions)]
        sizes += [len(version) for version in versions]
    return {
        "whole_bytes": fmean(sizes),
        "patch_bytes": fmean(patches),
        "times_smaller": fmean(sizes) / fmean(patches),
    }


def up_rows(up: dict[str, dict[str, Any]]) -> list[tuple[str, ...]]:
    """Return the cells of the table of codecs."""
    return [
        (
            name,
            f"{one['up_bytes_per_round'] / 1000:.1f}",
            f"{one['times_smaller']:.1f}",
            f"{one['bits_per_weight']:.2f}",
            f"{one['held_out_gain_percent']:+.1f} %",
            f"{one['loss_points']:.1f} points",
        )
        for name, one in up.items()
    ]


def rendered(content: dict[str, Any], plan: Plan) -> str:
    """Return the report as a page."""
    down_rows = tuple(
        (
            dtype,
            f"{one['whole_bytes'] / 1000:.1f}",
            f"{one['patch_bytes'] / 1000:.1f}",
            f"{one['times_smaller']:.2f}",
        )
        for dtype, one in content["versions"].items()
    )
    return render(
        "Bytes per round",
        f"Two workers, {plan.rounds} rounds of {plan.local_steps} steps, mean of seeds "
        f"{', '.join(map(str, content['seeds']))}; one process, no engine.",
        [],
        [
            Section(
                "Deltas, up",
                "Bytes of one worker's delta, mean over rounds, and the gain of the last version "
                "in tokens per verify step on held-out documents.",
                by_number(content["lengths"], label="tokens per verify step", xlabel="version"),
                Table(COLUMNS, tuple(up_rows(content["codecs"]))),
            ),
            Section(
                "Versions, down",
                "The lossless patch from one version to the next, mean over rounds.",
                table=Table(DOWN_COLUMNS, down_rows),
            ),
        ],
    )


def _up_bytes(runs: list[Run]) -> float:
    return fmean(round_.up_bytes for run in runs for round_ in run.rounds)


if __name__ == "__main__":
    sys.exit(main())
