"""What the demo saw, and the content of its report.json. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from e2e.blocks import break_even, overall_acceptance, overall_speed, paired_gain
from e2e.checks import Observation, Published
from e2e.cohorts import CONTROL, PUSH
from e2e.comparing import Comparison
from e2e.documents import LANGUAGES
from e2e.driving import Leg
from e2e.moments import Moment
from e2e.promoting.story import Story
from e2e.promoting.watching import Told
from e2e.report.curves import gain_percent
from e2e.report.fleet import Recording, cohort_figures, live_figures
from e2e.timeline import Count, Training
from specfleet_cli.evidence_plot import AnyPanel
from specfleet_cli.traffic.driving import summary as traffic_summary

STOCK, NONE = "stock", "no speculation"
NO_COST = "the cost of capturing and training is what `make experiment-cost` measures"


@dataclass(frozen=True, slots=True)
class Judged:
    """Three candidates in a fleet of their own, and the traffic that they were judged on."""

    story: Story
    leg: Leg
    panels: Mapping[str, tuple[AnyPanel, ...]]
    """Promotion -> its evidence."""
    moment: Moment | None
    """While a candidate was on its canary; None when that passed unseen."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that the demo saw."""

    cohorts: Mapping[str, tuple[str, ...]]
    """Their engines."""
    seconds: float
    ready_seconds: float
    counts: tuple[Count, ...]
    trainings: tuple[Training, ...]
    published: tuple[Published, ...]
    observations: tuple[Observation, ...]
    leg: Leg
    moment: Moment | None
    """At the end of the traffic."""
    versions: tuple[tuple[int, str], ...]
    """Number and digest of every stored version, stock first."""
    compared: Comparison
    walked: Mapping[str, Mapping[int, float]]
    """Language -> version -> tokens per verify step on documents that were never sent."""
    judged: Judged | None
    seed: int

    @property
    def recording(self) -> Recording:
        """Return what was seen of the fleet while there was traffic."""
        return Recording(
            cohorts=self.cohorts,
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
    results = [result, *([facts.judged.leg.result] if facts.judged else [])]
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
        "requests": sum(
            engine.requests for result in results for engine in result.engines.values()
        ),
        "request_errors": sum(result.num_errors for result in results),
        "output_mismatches": (
            sum(len(result.differences) for result in results) + compared.different
        ),
        **_promotions(facts.judged),
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
                for arm in (STOCK, facts.adapted, NONE)
            },
            "answers_compared": compared.compared,
            "answers_different": compared.different,
            "blocks": [asdict(block) for block in compared.blocks],
        },
        "seconds": {"all": facts.seconds, "starting": facts.ready_seconds},
        "seed": facts.seed,
    }


def told(story: Story) -> tuple[Told, Told, Told]:
    """Return what became of the candidates, in their order."""
    return story.learnt, story.damaged, story.slow


def _promotions(judged: Judged | None) -> dict[str, Any]:
    if judged is None:
        return {"promotions": [], "promoted_everywhere_seconds": None, "slow_gone_seconds": None}
    story = judged.story
    everywhere = story.learnt.seconds + story.learnt_everywhere_seconds
    return {
        "promotions": [_promotion(each) for each in told(story)],
        "promoted_everywhere_seconds": everywhere,
        "slow_gone_seconds": story.slow_gone_seconds,
    }


def _promotion(told: Told) -> dict[str, Any]:
    found = told.promotion
    return {
        "id": found.id,
        "outcome": found.outcome,
        "sentence": found.sentence,
        "seconds": told.seconds,
        "phases": dict(told.phases),
        "traffic_percent": told.traffic_percent,
        "effects": [asdict(effect) for effect in found.effects],
        "breaches": list(found.breaches),
    }
