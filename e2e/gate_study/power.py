"""How soon a better head is promoted, and that a worse one is not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from e2e.gate_study.errors import WORLD
from e2e.gate_study.findings import Finding, Size
from e2e.gate_study.lineages import (
    ALPHA,
    Ended,
    end,
    fresh_conversations,
    positions_as_steps,
    product_gate,
)
from e2e.gate_study.walks import walk, walk_with_gain
from specfleet_common.judge.power import needed_growth
from specfleet_common.judge.replay import CAUTIOUS, LIVE
from specfleet_common.judge.spending import promotion_alpha
from specfleet_common.judge.totals import Totals

STEPS = 15_000
REQUESTS = 400
PROMOTIONS = 1000
DISAGREEMENTS = (0.07, 0.15, 0.3)
FIRST_ALPHA = promotion_alpha(ALPHA, ())
"""The budget of a lineage's first promotion."""
DEFAULT_MINIMUM = 0.005


def power_findings(size: Size, seed: int) -> list[Finding]:
    """Return the findings on candidates that are better, worse, or only look better."""
    return [
        *(
            _better(size, disagreement, minimum, claimed, seed)
            for disagreement, minimum, claimed in (
                (0.07, 0.0, 0.9),
                (0.15, 0.0, 0.9),
                (0.3, 0.0, None),
                (0.035, DEFAULT_MINIMUM, 0.9),
                (0.07, DEFAULT_MINIMUM, None),
                (0.15, DEFAULT_MINIMUM, None),
            )
        ),
        _worse(size, seed),
        _better_only_over_positions(size, seed),
        _forecast(size, seed),
    ]


def promoted(
    size: Size, disagreement: float, gain: float, minimum: float, seed: int
) -> tuple[Ended, float]:
    """Return how first promotions of such a head end, and at what share of positions it differs."""
    count = min(size.lineages, PROMOTIONS)
    world = replace(WORLD, disagreement=disagreement)
    walked = walk_with_gain(world, gain, size.conversations, seed)
    evidence = fresh_conversations(walked, 2 * REQUESTS, null=False)(
        np.random.default_rng(seed), count
    )
    budget = np.full(count, FIRST_ALPHA)
    return end(evidence, product_gate(minimum)(evidence, budget)), walked.positions_differ


def _better(
    size: Size, disagreement: float, minimum: float, claimed: float | None, seed: int
) -> Finding:
    ended, differ = promoted(size, disagreement, 0.01, minimum, seed)
    steps = np.sort(ended.steps)
    return Finding(
        name=f"+1 % head, {100 * differ:.0f} % of positions differ, minimum gain {minimum:.1%}",
        claim=f"promotions within {STEPS:,} paired walk steps",
        value=float((ended.steps <= STEPS).mean()),
        limit=claimed,
        at_most=False,
        detail={
            "median_steps": float(steps[len(steps) // 2]),
            "p90_steps": float(steps[9 * len(steps) // 10]),
        },
    )


def _worse(size: Size, seed: int) -> Finding:
    ended, _ = promoted(size, WORLD.disagreement, -0.01, 0.0, seed)
    return Finding(
        name="-1 % head",
        claim=f"lineages that never promote a -1 % head, in {2 * REQUESTS} requests",
        value=float(1 - ended.passed.mean()),
        limit=0.99,
        at_most=False,
    )


def _better_only_over_positions(size: Size, seed: int) -> Finding:
    """Better where drafting is easy, which a walk jumps over; worse where it is hard."""
    world = replace(WORLD, easy_shift=0.4, hard_factor=0.7)
    walked = walk(world, size.conversations, np.random.default_rng(seed))
    rng = np.random.default_rng(seed)
    evidence = fresh_conversations(walked, REQUESTS, null=False)(rng, size.lineages)
    rejected = end(evidence, LIVE.below(evidence.totals, 0.0, ALPHA))
    ever_passed = product_gate(0.0)(evidence, np.full(size.lineages, ALPHA)).any(axis=1)
    naive = fresh_conversations(positions_as_steps(walked), REQUESTS, null=False)(
        np.random.default_rng(seed), size.lineages
    )
    return Finding(
        name="better on all positions, worse on its own walk",
        claim="rejections of a head that gains over all positions and loses on its walk",
        value=float((rejected.passed & ~ever_passed).mean()),
        limit=0.99,
        at_most=False,
        naive=float(1 - LIVE.above(naive.totals, 0.0, ALPHA).any(axis=1).mean()),
        detail={
            "gain_over_positions": walked.gain_over_positions,
            "gain_on_its_walk": walked.gain,
            "median_steps": float(np.median(rejected.steps)),
        },
    )


def _forecast(size: Size, seed: int) -> Finding:
    """Compare "needs about N more requests", said after 60 requests, with what it then took."""
    walked = walk_with_gain(WORLD, 0.02, size.conversations, seed)
    count = min(size.lineages, 300)
    evidence = fresh_conversations(walked, 4 * REQUESTS, null=False)(
        np.random.default_rng(seed), count
    )
    ended = end(evidence, product_gate(DEFAULT_MINIMUM)(evidence, np.full(count, FIRST_ALPHA)))
    ratios = [
        forecast / took
        for forecast, took in zip(_forecasts(evidence.totals, 60), ended.requests, strict=True)
        if 60 < took < np.inf
    ]
    middle = float(np.median(ratios))
    return Finding(
        name="forecast of the traffic needed",
        claim="median of forecast by needed requests, or its inverse, for a +2 % head",
        value=max(middle, 1 / middle),
        limit=2.0,
        at_most=True,
        detail={
            "median_ratio": middle,
            "p10": float(np.quantile(ratios, 0.1)),
            "p90": float(np.quantile(ratios, 0.9)),
        },
    )


def _forecasts(totals: Totals, requests: int) -> Iterator[float]:
    for lineage in range(len(totals.a)):
        now = Totals(
            *(
                np.asarray(getattr(totals, name)[lineage, requests - 1])
                for name in Totals.__dataclass_fields__
            )
        )
        growths = [
            needed_growth(sequence, now, gain=gain, above_alpha=FIRST_ALPHA, below_alpha=ALPHA)
            for sequence, gain in ((LIVE, DEFAULT_MINIMUM), (CAUTIOUS, 0.0))
        ]
        yield requests * max(np.inf if growth is None else growth for growth in growths)
