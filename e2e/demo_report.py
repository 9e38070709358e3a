"""What the demo saw, and the content of its report.json. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from e2e.blocks import break_even, overall_acceptance, overall_speed, paired_gain
from e2e.checks import Observation, Published
from e2e.cohorts import CONTROL, PUSH, cohorts_of
from e2e.comparing import Comparison
from e2e.documents import LANGUAGES
from e2e.driving import Leg
from e2e.report.curves import gain_percent
from e2e.report.fleet import Recording, cohort_figures, live_figures
from e2e.timeline import Count, Training
from specfleet_cli.endpoints import Fleet
from specfleet_cli.traffic.driving import summary as traffic_summary

STOCK, NONE = "stock", "no speculation"
NO_COST = "the cost of capturing and training is what `make experiment-cost` measures"


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that the demo saw."""

    fleet: Fleet
    seconds: float
    ready_seconds: float
    counts: tuple[Count, ...]
    trainings: tuple[Training, ...]
    published: tuple[Published, ...]
    observations: tuple[Observation, ...]
    leg: Leg
    versions: tuple[tuple[int, str], ...]
    """Number and digest of every stored version, stock first."""
    compared: Comparison
    walked: Mapping[str, Mapping[int, float]]
    """Language -> version -> tokens per verify step on documents that were never sent."""
    seed: int

    @property
    def recording(self) -> Recording:
        """Return what was seen of the fleet while there was traffic."""
        return Recording(
            cohorts=cohorts_of(self.fleet),
            counts=self.counts,
            trainings=self.trainings,
            published=self.published,
            observations=self.observations,
            begin=self.leg.began,
            end=self.leg.ended,
        )

    @property
    def adapted(self) -> str:
        """Return the name of the arm with the last version."""
        return f"version {self.versions[-1][0]}"


def content(facts: Facts) -> dict[str, Any]:
    """Return the content of report.json."""
    live = live_figures(facts.recording, PUSH, CONTROL)
    result, compared, walked = facts.leg.result, facts.compared, facts.walked
    speed = paired_gain(compared.blocks, facts.adapted, STOCK, seed=facts.seed)
    last, first = facts.versions[-1][0], facts.versions[0][0]
    held_out = {
        LANGUAGES[language]: gain_percent(lengths[last], lengths[first])
        for language, lengths in walked.items()
    }
    return {
        "held_out_gain_percent": held_out[LANGUAGES["hi"]],
        "live_gain_percent": live["gain_percent"],
        "tokens_per_second_gain_percent": speed.percent,
        "crossover_seconds": live["crossover_seconds"],
        "pipeline_cost_percent": None,
        "pipeline_cost_reason": NO_COST,
        "requests": sum(engine.requests for engine in result.engines.values()),
        "request_errors": result.num_errors,
        "output_mismatches": len(result.differences) + compared.different,
        "versions": [
            {
                "number": number,
                "digest": digest,
                "held_out_acceptance_length": walked["hi"][number],
            }
            for number, digest in facts.versions
        ],
        "live": {
            **live,
            "cohorts": cohort_figures(facts.recording),
            "published": [asdict(one) for one in facts.published],
            "traffic": traffic_summary(result),
        },
        "held_out": {
            "gain_percent": held_out,
            "acceptance_length": {
                LANGUAGES[language]: lengths for language, lengths in walked.items()
            },
        },
        "blocks": {
            "training": "paused",
            "gain": asdict(speed),
            "gain_over_no_speculation": asdict(
                paired_gain(compared.blocks, facts.adapted, NONE, seed=facts.seed)
            ),
            "break_even_acceptance_length": break_even(compared.blocks, facts.adapted, NONE),
            "arms": {
                arm: {
                    "tokens_per_second": overall_speed(compared.blocks, arm),
                    "acceptance_length": overall_acceptance(compared.blocks, arm),
                }
                for arm in (NONE, STOCK, facts.adapted)
            },
            "answers_compared": compared.compared,
            "answers_different": compared.different,
            "blocks": [asdict(block) for block in compared.blocks],
        },
        "seconds": {"all": facts.seconds, "starting": facts.ready_seconds},
        "seed": facts.seed,
    }
