"""Live engines that switch back and forth: their tokens and busy seconds by pair and batch band.

An engine's speed wanders, its load wanders between two batch bands, and single blocks go astray
with heavy tails. Arms come from the product's plan; pairs are judged as the product judges them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from specfleet_common.judge.canary import SPEED
from specfleet_common.judge.confidence import Flags
from specfleet_common.judge.pairing import cell_terms
from specfleet_common.judge.switchback import Arm, Switchback
from specfleet_common.judge.totals import Numbers, Totals

BLOCK_SECONDS, WASHOUT_SECONDS = 30.0, 5.0
_SETTLED = BLOCK_SECONDS - WASHOUT_SECONDS
_PLANS = 100
"""Different switchbacks; more runs than these share them."""
_BAND_SPEEDS = np.array([0.6, 1.0])
"""Tokens per second in the lower and in the higher batch band, relative."""


@dataclass(frozen=True, slots=True)
class Site:
    """A fleet's canary engines and what happens on them."""

    engine_speeds: tuple[float, ...] = (1.0, 1.0)
    effect: float = 0.0
    """Of the candidate on tokens per second."""
    wander: float = 0.03
    """Of an engine's speed from one block to the next, as a share."""
    noise: float = 0.03
    """Of a block's speed; t-distributed with three degrees of freedom."""
    trial_in_high_band: float = 0.5
    """The mean share of time in the higher band of the candidate's blocks; the others' is 0.5."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """Cells of [runs, engines, pairs, arms, bands]; the first arm is the trial."""

    tokens: Numbers
    busy_seconds: Numbers


def observe(site: Site, runs: int, pairs: int, rng: np.random.Generator) -> Blocks:
    """Let each run's engines go through their pairs of blocks."""
    engines = len(site.engine_speeds)
    blocks = (runs, engines, 2 * pairs)
    wandering = np.cumsum(rng.normal(0, site.wander, blocks), axis=-1)
    astray = np.clip(site.noise * rng.standard_t(3, blocks), -1, 1)
    speed = 100 * np.asarray(site.engine_speeds)[:, np.newaxis] * np.exp(wandering + astray)
    load = np.clip(0.5 + np.cumsum(rng.normal(0, 0.15, blocks), axis=-1), 0, 1)
    trial = _trial_blocks(runs, engines, pairs)
    high = np.clip(load + np.where(trial, site.trial_in_high_band - 0.5, 0.0), 0.05, 0.95)
    busy = _SETTLED * np.stack([1 - high, high], axis=-1)
    rate = speed * np.where(trial, 1 + site.effect, 1.0)
    tokens = busy * rate[..., np.newaxis] * _BAND_SPEEDS
    return Blocks(_by_arm(tokens, trial), _by_arm(busy, trial))


def pair_totals(blocks: Blocks) -> Totals:
    """Return the totals after each pair of all engines: arrays of [runs, pairs]."""
    a, b, weight = (
        np.moveaxis(part.sum(-1), 1, 2) / (_SETTLED / 2)
        for part in cell_terms(
            blocks.tokens[..., 0, :],
            blocks.busy_seconds[..., 0, :],
            blocks.tokens[..., 1, :],
            blocks.busy_seconds[..., 1, :],
        )
    )

    def added(values: Numbers) -> Numbers:
        return np.cumsum(values.sum(-1), axis=1)

    return Totals(
        a=added(a),
        b=added(b),
        aa=added(a * a),
        ab=added(a * b),
        bb=added(b * b),
        weight=added(weight),
        weight_squared=added(weight**2),
        count=added((weight > 0).astype(np.float64)),
    )


def harm_is_excluded(totals: Totals, *, margin: float, alpha: float) -> Flags:
    """Say at which looks the product would let the candidate pass."""
    return SPEED.above(totals, -margin, alpha)


def harm_is_sure(totals: Totals, *, alpha: float) -> Flags:
    """Say at which looks the product would stop the candidate."""
    return SPEED.below(totals, 0.0, alpha)


def pooled_gain(blocks: Blocks) -> Numbers:
    """Return what a comparison of all tokens by all seconds shows after each pair."""
    tokens, seconds = (
        np.cumsum(part.sum((1, 4)), axis=1) for part in (blocks.tokens, blocks.busy_seconds)
    )
    rate = tokens / seconds
    return np.asarray(rate[..., 0] / rate[..., 1] - 1)


@cache
def _trial_blocks(runs: int, engines: int, pairs: int) -> NDArray[np.bool_]:
    plans = [Switchback(str(run), BLOCK_SECONDS, WASHOUT_SECONDS) for run in range(_PLANS)]
    trial = np.array(
        [
            [
                [plan.arm(f"engine-{engine}", block) is Arm.TRIAL for block in range(2 * pairs)]
                for engine in range(engines)
            ]
            for plan in plans
        ]
    )
    return np.asarray(trial[np.arange(runs) % _PLANS])


def _by_arm(values: Numbers, trial: NDArray[np.bool_]) -> Numbers:
    """Sort [runs, engines, blocks, bands] into [runs, engines, pairs, arms, bands]."""
    runs, engines, blocks, bands = values.shape
    paired = values.reshape(runs, engines, blocks // 2, 2, bands)
    first_is_trial = trial.reshape(runs, engines, blocks // 2, 2)[..., 0]
    return np.where(first_is_trial[..., np.newaxis, np.newaxis], paired, paired[..., ::-1, :])
