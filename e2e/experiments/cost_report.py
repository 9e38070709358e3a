"""The report of the cost experiment: its figures and its page. Pure."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from e2e.cohorts import PUSH, cohorts_of
from e2e.driving import Leg
from e2e.observing import Observer
from e2e.report.fleet import Recording, cohort_figures, fleet_sections, live_figures
from e2e.report.page import Section, Table, render
from e2e.report.ratios import mean_ratio, tokens_between
from specfleet_cli.endpoints import Fleet
from specfleet_cli.traffic.driving import summary

DEFAULT, TRAIN_ONLY = "default", "train-only"
CONTENTION = (
    "Three engines and two trainers share one machine. Where it has no more cores than engines, "
    "all engines are bound to one core and the trainers run on the others; caches and memory are "
    "shared all the same, and no engine gets exactly its third. Tokens per CPU second of an "
    "engine, with all its processes, are what tokens/s would be with equal parts, so costs and "
    "gains are taken from them; tokens/s as they were are given beside them."
)
STRETCH_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen, and the CPU time of each cohort's engine until some moments of it."""

    fleet: Fleet
    observer: Observer
    leg: Leg
    moments: Sequence[float]
    cpu_seconds: Mapping[str, Sequence[float]]

    @property
    def recording(self) -> Recording:
        """Return what was seen while there was traffic."""
        observer = self.observer
        return Recording(
            cohorts=cohorts_of(self.fleet),
            counts=observer.counts,
            trainings=observer.trainings,
            published=observer.published,
            observations=observer.observations,
            begin=self.leg.began,
            end=self.leg.ended,
        )


def content(found: Seen, stored: Sequence[int], *, seed: int) -> dict[str, Any]:
    """Return the content of report.json: costs of the whole time, gains of its second half."""
    recording, result = found.recording, found.leg.result
    tokens = {
        cohort: tokens_between(recording.spans(cohort), found.moments)
        for cohort in recording.cohorts
    }
    used = {
        cohort: [after - before for before, after in itertools.pairwise(readings)]
        for cohort, readings in found.cpu_seconds.items()
    }
    efficiency = {
        cohort: [
            number / seconds for number, seconds in zip(tokens[cohort], used[cohort], strict=True)
        ]
        for cohort in tokens
    }
    half = len(efficiency[PUSH]) // 2
    cost = mean_ratio(efficiency[TRAIN_ONLY], efficiency[DEFAULT], seed=seed)
    gain = mean_ratio(efficiency[PUSH][half:], efficiency[DEFAULT][half:], seed=seed)
    live = live_figures(recording, PUSH, DEFAULT)
    return {
        "experiment": "cost",
        "pipeline_cost_percent": _percent(cost.value),
        "pipeline_cost_interval_percent": [_percent(cost.low), _percent(cost.high)],
        "pipeline_cost_wall_percent": _percent(
            mean_ratio(tokens[TRAIN_ONLY], tokens[DEFAULT], seed=seed).value
        ),
        "push_gain_percent": _percent(gain.value),
        "push_gain_interval_percent": [_percent(gain.low), _percent(gain.high)],
        "push_gain_wall_percent": _percent(
            mean_ratio(tokens[PUSH][half:], tokens[DEFAULT][half:], seed=seed).value
        ),
        "push_live_gain_percent": live["gain_percent"],
        "crossover_seconds": live["crossover_seconds"],
        "contention": CONTENTION,
        "requests": sum(engine.requests for engine in result.engines.values()),
        "request_errors": result.num_errors,
        "output_mismatches": len(result.differences),
        "cohorts": {
            name: {
                **figures,
                "engine_cpu_seconds": sum(used[name]),
                "tokens_per_cpu_second": sum(tokens[name]) / sum(used[name]),
            }
            for name, figures in cohort_figures(recording).items()
        },
        "versions": stored,
        "published": [asdict(one) for one in found.observer.published],
        "traffic": summary(result),
    }


def page(found: Seen, report: Mapping[str, Any]) -> str:
    """Return report.html."""
    cost, gain = report["pipeline_cost_interval_percent"], report["push_gain_interval_percent"]
    crossover = report["crossover_seconds"]
    return render(
        "What adapting costs, and what it gains",
        "The same Hindi traffic to three engines. " + CONTENTION,
        [
            (
                "train-only against default, tokens per CPU second",
                f"{report['pipeline_cost_percent']:+.1f} %",
            ),
            (
                "push against default, tokens per CPU second",
                f"{report['push_gain_percent']:+.1f} %",
            ),
            ("different outputs", str(report["output_mismatches"])),
            ("errors / requests", f"{report['request_errors']} / {report['requests']}"),
        ],
        [
            Section(
                "Cohorts",
                f"Ratios over stretches of {STRETCH_SECONDS:.0f} seconds, with 95 % bootstrap "
                f"intervals: train-only {cost[0]:+.1f} to {cost[1]:+.1f} % over the whole time, "
                f"push {gain[0]:+.1f} to {gain[1]:+.1f} % over its second half. As they were, "
                f"tokens/s differ by {report['pipeline_cost_wall_percent']:+.1f} "
                f"and {report['push_gain_wall_percent']:+.1f} %. In the table, tokens/s and "
                "acceptance are of the last third.",
                table=Table(
                    ("cohort", "tokens/s", "acceptance", "engine CPU s", "tokens / CPU s"),
                    tuple(
                        (
                            name,
                            f"{one['tokens_per_second']:.0f}",
                            f"{one['acceptance_length'] or math.nan:.3f}",
                            f"{one['engine_cpu_seconds']:.0f}",
                            f"{one['tokens_per_cpu_second']:.1f}",
                        )
                        for name, one in report["cohorts"].items()
                    ),
                ),
            ),
            *fleet_sections(
                found.recording, marks={} if crossover is None else {"crossover": crossover}
            ),
        ],
    )


def _percent(ratio: float) -> float:
    return 100.0 * (ratio - 1.0)
