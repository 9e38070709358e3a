"""What one bad worker of three costs, by the rule that combines the workers' deltas.

Run as `python -m e2e.experiments.robust`. Three workers are federated offline on captured Hindi
requests, on the same seeds with every rule: all honest, and with the last one bad in several ways.
Versions are walked over documents never trained on.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from statistics import fmean, median
from typing import Any

from rich.console import Console

from e2e.experiments.federating import Plan, Recipe
from e2e.experiments.misbehaving import Fault
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
from specfleet_common.diloco.rule import Rule

NUM_WORKERS = 3
HONEST = "is honest"
COLUMNS = (
    "the third worker",
    "combine",
    "held-out gain",
    "of each seed",
    "less than three honest",
    "less than two alone",
)


def name_of(rule: Rule, fault: Fault | None) -> str:
    """Return what a federation is called in the report."""
    return f"{rule.value}: {fault.value if fault else HONEST}"


RECIPES = {
    name_of(rule, fault): Recipe(combine=rule, fault=fault)
    for fault in (None, *Fault)
    for rule in Rule
    # Without the third worker there are two deltas, of which every rule makes the mean.
    if fault is not Fault.ABSENT or rule is Rule.MEAN
}
THREE_HONEST = name_of(Rule.MEAN, None)
TWO_ALONE = name_of(Rule.MEAN, Fault.ABSENT)


def main() -> int:
    """Run the experiment, write its report and show its table."""
    options, console = parse("robust", __doc__, sys.argv[1:], rounds=6), Console()
    given, plan = material(options, console, num_workers=NUM_WORKERS), plan_of(options)
    runs = run_all(RECIPES, options, plan, given, console)

    content = what_ran(options, plan, runs) | {"federations": figures(runs)}
    page = rendered(content, plan)
    conclude(console, options, content, page, COLUMNS, rows(content["federations"]))
    return 0


def figures(runs: Mapping[str, list[Run]]) -> dict[str, dict[str, Any]]:
    """Return the gain of the last version of every federation, and which share of it is lost.

    Of what three honest workers gain on the same seeds, a bad one's requests are lost in any case;
    of what the two others gain without it, only what it sends can take something.
    """
    three, two = mean_gain(runs[THREE_HONEST]), mean_gain(runs[TWO_ALONE])
    return {
        name: {
            "third_worker": recipe.fault.value if recipe.fault else HONEST,
            "combine": recipe.combine.value,
            "held_out_gain_percent": mean_gain(runs[name]),
            "gains_percent": [run.gain_percent for run in runs[name]],
            "less_than_three_honest_percent": 100.0 * (1.0 - mean_gain(runs[name]) / three),
            "less_than_two_alone_percent": 100.0 * (1.0 - mean_gain(runs[name]) / two),
            "norms_to_median": _norms_to_median(runs[name]),
            "left_out_deltas": _left_out(runs[name]),
        }
        for name, recipe in RECIPES.items()
    }


def rows(federations: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return the cells of the table."""
    return [
        (
            one["third_worker"],
            one["combine"],
            f"{one['held_out_gain_percent']:+.1f} %",
            ", ".join(f"{gain:+.1f}" for gain in one["gains_percent"]),
            f"{one['less_than_three_honest_percent']:.1f} %",
            "" if one["third_worker"] == HONEST else f"{one['less_than_two_alone_percent']:.1f} %",
        )
        for one in federations.values()
    ]


def rendered(content: Mapping[str, Any], plan: Plan) -> str:
    """Return the report as a page."""
    return render(
        "One bad worker of three",
        f"Three workers, {plan.rounds} rounds of {plan.local_steps} steps, mean of seeds "
        f"{', '.join(map(str, content['seeds']))}; one process, no engine.",
        [],
        [
            Section(
                "Held-out documents",
                "Tokens per verify step of every version. Less is the share of the gain that is "
                "missing from that of three honest workers and their mean, and from that of the "
                "first two alone.",
                by_number(content["lengths"], label="tokens per verify step", xlabel="version"),
                Table(COLUMNS, tuple(rows(content["federations"]))),
            )
        ],
    )


def _norms_to_median(runs: list[Run]) -> list[float]:
    """Return for every worker the mean of its delta's norm as a multiple of the round's median."""
    ratios = [
        [norm / median(round_.norms) for norm in round_.norms]
        for run in runs
        for round_ in run.rounds
    ]
    return [fmean(column) for column in zip(*ratios, strict=True)]


def _left_out(runs: list[Run]) -> dict[str, int]:
    """Return how many deltas of each worker were left out, over all rounds and runs."""
    places = [place for run in runs for round_ in run.rounds for place in round_.left_out]
    return {place: places.count(place) for place in sorted(set(places))}


if __name__ == "__main__":
    sys.exit(main())
