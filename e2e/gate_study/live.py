"""What the canary lets through and what it stops."""

from __future__ import annotations

import numpy as np

from e2e.gate_study.canaries import (
    BLOCK_SECONDS,
    Site,
    harm_is_excluded,
    harm_is_sure,
    observe,
    pair_totals,
    pooled_gain,
)
from e2e.gate_study.findings import Finding, Size
from e2e.gate_study.lineages import ALPHA
from specfleet_common.judge.canary import SPEED
from specfleet_common.judge.confidence import Flags
from specfleet_common.judge.totals import Numbers

PAIRS = 120
MARGIN = 0.02
FLEET_ENGINES = 8
SLOW_ENGINE = (1.0, 0.25)


def live_findings(size: Size, seed: int) -> list[Finding]:
    """Return the findings on switchback blocks."""
    return [
        _equal("canary A/A", "two engines", Site(), size, seed),
        _equal(
            "canary A/A, one engine much slower",
            "two engines, one of which has a quarter of the other's speed, and noise of 10 %",
            Site(engine_speeds=SLOW_ENGINE, noise=0.1),
            size,
            seed,
        ),
        _loss_of_the_margin(size, seed),
        _hidden_loss(size, seed),
        _slow_draft(size, seed),
        *_equivalence(size, seed),
    ]


def _equal(name: str, site_text: str, site: Site, size: Size, seed: int) -> Finding:
    totals = pair_totals(observe(site, size.lineages, PAIRS, np.random.default_rng(seed)))
    stopped = harm_is_sure(totals, alpha=ALPHA).any(axis=1)
    seconds = _seconds_until(harm_is_excluded(totals, margin=MARGIN, alpha=ALPHA))
    return Finding(
        name=name,
        claim=f"canaries of an equal head that are called harmful: {site_text}",
        value=float(stopped.mean()),
        limit=ALPHA,
        at_most=True,
        naive=float(_single_look_test(totals.a - totals.b, totals.variance(0.0)).mean()),
        detail={
            "passed": float(np.isfinite(seconds).mean()),
            "median_minutes_to_pass": float(np.median(seconds)) / 60,
        },
    )


def _loss_of_the_margin(size: Size, seed: int) -> Finding:
    site = Site(effect=-MARGIN)
    totals = pair_totals(observe(site, size.lineages, PAIRS, np.random.default_rng(seed)))
    return Finding(
        name="canary of a head that loses the margin",
        claim=f"canaries that pass although the head is {100 * MARGIN:.0f} % slower, which is "
        "the margin",
        value=float(harm_is_excluded(totals, margin=MARGIN, alpha=ALPHA).any(axis=1).mean()),
        limit=ALPHA,
        at_most=True,
    )


def _hidden_loss(size: Size, seed: int) -> Finding:
    site = Site(effect=-0.03, trial_in_high_band=0.7)
    blocks = observe(site, size.lineages, PAIRS, np.random.default_rng(seed))
    totals = pair_totals(blocks)
    return Finding(
        name="a loss hidden by the mix of batch sizes",
        claim="canaries that pass although the head is 3 % slower in each batch band, while its "
        "blocks see the fast band more often",
        value=float(harm_is_excluded(totals, margin=MARGIN, alpha=ALPHA).any(axis=1).mean()),
        limit=ALPHA,
        at_most=True,
        naive=float((pooled_gain(blocks)[:, -1] > 0).mean()),
        detail={"pooled_gain": float(pooled_gain(blocks)[:, -1].mean())},
    )


def _slow_draft(size: Size, seed: int) -> Finding:
    """Touched is half the time of the canary engines until they are stopped."""
    site = Site(effect=-0.1)
    totals = pair_totals(observe(site, size.lineages, PAIRS, np.random.default_rng(seed)))
    seconds = _seconds_until(harm_is_sure(totals, alpha=ALPHA))
    canaries = len(site.engine_speeds)
    touched = seconds / 2 * canaries / (3600 * FLEET_ENGINES)
    return Finding(
        name="slow draft",
        claim="canaries stopped within 15 minutes when the head costs 10 % of the speed",
        value=float((seconds <= 900).mean()),
        limit=0.95,
        at_most=False,
        detail={
            "median_minutes_to_stop": float(np.median(seconds)) / 60,
            "p90_minutes_to_stop": float(np.quantile(seconds, 0.9)) / 60,
            "median_touched_share_of_an_hour": float(np.median(touched)),
        },
    )


def _equivalence(size: Size, seed: int) -> list[Finding]:
    """The A/A test: both directions inside the margin, or surely not."""

    def outcomes(effect: float) -> tuple[float, float, float]:
        site = Site(effect=effect)
        totals = pair_totals(observe(site, size.lineages, PAIRS, np.random.default_rng(seed)))
        both = harm_is_excluded(totals, margin=MARGIN, alpha=ALPHA) & harm_is_excluded(
            totals.inverted(), margin=MARGIN, alpha=ALPHA
        )
        minutes = float(np.median(_seconds_until(both))) / 60
        refused = SPEED.below(totals, -MARGIN, ALPHA).any(axis=1).mean()
        return float(both.any(axis=1).mean()), minutes, float(refused)

    equivalent, minutes, _ = outcomes(0.0)
    wrongly, _, refused = outcomes(-0.05)
    return [
        Finding(
            name="A/A test of like arms",
            claim=f"A/A tests that pass within {2 * PAIRS * BLOCK_SECONDS / 3600:.0f} hours",
            value=equivalent,
            limit=0.8,
            at_most=False,
            detail={"median_minutes": minutes},
        ),
        Finding(
            name="A/A test of unlike arms",
            claim="A/A tests that pass although one arm loses 5 % to its swaps",
            value=wrongly,
            limit=ALPHA,
            at_most=True,
            detail={"called_not_equivalent": refused},
        ),
    ]


def _seconds_until(decided: Flags) -> Numbers:
    first = decided.argmax(axis=1) + 1.0
    return np.where(decided.any(axis=1), 2 * BLOCK_SECONDS * first, np.inf)


def _single_look_test(excess: Numbers, variance: Numbers) -> Flags:
    """Say which runs a one-sided test of 5 % calls harmful at one of its looks from pair 5 on."""
    return np.asarray((-excess > 1.645 * np.sqrt(variance))[:, 4:].any(axis=1))
