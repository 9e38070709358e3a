"""How choices of the trainer change what is learned, and what they cost.

Run as `python -m e2e.experiments.learning`. The gradient stops between depths or runs back through
them; depths have fixed weights or those of D-PACE; the softmax is over the whole vocabulary or a
part of it. Two workers are federated offline on captured Hindi requests, on the same seeds with
every choice; versions are walked over documents never trained on.
"""

from __future__ import annotations

import sys
from statistics import fmean
from typing import Any

from rich.console import Console

from e2e.experiments.federating import Plan, Recipe
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
from specfleet_trainer.restricted import Sampling

BASE = "stopped gradient, fixed weights, whole vocabulary"
# A sixteenth of the small model's 2,048 tokens in all; a large vocabulary leaves out far more.
SMALL_SAMPLING = Sampling(own=32, draws=96)
RECIPES = {
    BASE: Recipe(),
    "gradient through the depths": Recipe(through_chain=True),
    "D-PACE weights": Recipe(dpace=True),
    "part of the vocabulary": Recipe(sampling=SMALL_SAMPLING),
}
COLUMNS = ("choice", "held-out gain", "of each seed", "against the first", "positions per CPU s")


def main() -> int:
    """Run the experiment, write its report and show its table."""
    options, console = parse("learning", __doc__, sys.argv[1:], rounds=6), Console()
    given, plan = material(options, console), plan_of(options)
    runs = run_all(RECIPES, options, plan, given, console)

    content = what_ran(options, plan, runs) | {"choices": figures(runs)}
    page = rendered(content, plan)
    conclude(console, options, content, page, COLUMNS, rows(content["choices"]))
    return 0


def figures(runs: dict[str, list[Run]]) -> dict[str, dict[str, Any]]:
    """Return for every choice the gain of the last version, and how fast the steps were."""
    reference = mean_gain(runs[BASE])
    return {
        name: {
            "held_out_gain_percent": mean_gain(some),
            "gains_percent": [run.gain_percent for run in some],
            "difference_points": mean_gain(some) - reference,
            "positions_per_cpu_second": fmean(
                round_.positions / round_.cpu_seconds for run in some for round_ in run.rounds
            ),
        }
        for name, some in runs.items()
    }


def rows(choices: dict[str, dict[str, Any]]) -> list[tuple[str, ...]]:
    """Return the cells of the table."""
    return [
        (
            name,
            f"{one['held_out_gain_percent']:+.1f} %",
            ", ".join(f"{gain:+.1f}" for gain in one["gains_percent"]),
            f"{one['difference_points']:+.1f} points",
            f"{one['positions_per_cpu_second']:.0f}",
        )
        for name, one in choices.items()
    ]


def rendered(content: dict[str, Any], plan: Plan) -> str:
    """Return the report as a page."""
    return render(
        "What the trainer's choices change",
        f"Two workers, {plan.rounds} rounds of {plan.local_steps} steps, mean of seeds "
        f"{', '.join(map(str, content['seeds']))}; one process, no engine.",
        [],
        [
            Section(
                "Held-out documents",
                "Tokens per verify step of every version. Each choice changes the first recipe in "
                "one point.",
                by_number(content["lengths"], label="tokens per verify step", xlabel="version"),
                Table(COLUMNS, tuple(rows(content["choices"]))),
            )
        ],
    )


if __name__ == "__main__":
    sys.exit(main())
