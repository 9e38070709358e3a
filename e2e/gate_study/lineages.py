"""Many lineages at once, judged at every look by the product's bounds and its error budget.

A promotion draws conversations from walked ones, with replacement. In an A/A promotion each
conversation's heads change places at random, so that the candidate is exactly as good as stable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from e2e.gate_study.walks import Walked
from specfleet_common.judge.confidence import Flags
from specfleet_common.judge.replay import CAUTIOUS, CONVERSATION_TOKENS, LIVE
from specfleet_common.judge.spending import promotion_alpha
from specfleet_common.judge.totals import Numbers, Totals

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Evidence:
    """All looks at one promotion of each lineage: arrays of [lineages, looks]."""

    totals: Totals
    steps: Numbers
    """Verify steps of stable."""
    requests: Numbers


Draw = Callable[[np.random.Generator, int], Evidence]
"""Draws the evidence of one promotion for so many lineages."""
Gate = Callable[[Evidence, Numbers], Flags]
"""Says at which looks candidates pass, given the budget of each lineage."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How one promotion of each lineage ended; infinity where it has not passed."""

    passed: Flags
    steps: Numbers
    requests: Numbers


def fresh_conversations(walked: Walked, requests: int, *, null: bool) -> Draw:
    """Every request is a conversation of its own; a look follows each."""
    stable, candidate, tokens = (
        array[:, 0] for array in (walked.stable, walked.candidate, walked.tokens)
    )

    def draw(rng: np.random.Generator, lineages: int) -> Evidence:
        chosen = rng.integers(0, len(tokens), (lineages, requests))
        a, b, weight = stable[chosen], candidate[chosen], tokens[chosen]
        if null:
            a, b = _change_places(a, b, rng.random(chosen.shape) < 0.5)
        scale = np.minimum(1.0, CONVERSATION_TOKENS / weight)
        return Evidence(
            totals=_moments(scale * a, scale * b, scale * weight, np.cumsum),
            steps=np.cumsum(a, axis=1),
            requests=np.broadcast_to(np.arange(1.0, requests + 1), chosen.shape),
        )

    return draw


def growing_conversations(
    walked: Walked,
    conversations: int,
    *,
    looks: int,
    null: bool,
    repeats: Callable[[np.random.Generator, tuple[int, int]], Numbers],
) -> Draw:
    """Conversations go on side by side; each of their requests comes `repeats` times in the end."""

    def draw(rng: np.random.Generator, lineages: int) -> Evidence:
        chosen = rng.integers(0, len(walked.tokens), (lineages, conversations))
        a, b, tokens = walked.stable[chosen], walked.candidate[chosen], walked.tokens[chosen]
        if null:
            a, b = _change_places(a, b, rng.random((*chosen.shape, 1)) < 0.5)
        times = repeats(rng, chosen.shape)[..., np.newaxis]
        phase = rng.random(a.shape)
        seen = []
        for look in range(1, looks + 1):
            copies = np.floor(times * look / looks + phase)
            weight = (copies * tokens).sum(-1)
            scale = np.minimum(1.0, CONVERSATION_TOKENS / np.maximum(weight, 1))
            of_stable = (copies * a).sum(-1)
            totals = _moments(
                scale * of_stable, scale * (copies * b).sum(-1), scale * weight, np.sum
            )
            seen.append((totals, of_stable.sum(-1), copies.sum((-1, -2))))
        fields = Totals.__dataclass_fields__
        return Evidence(
            totals=Totals(
                **{
                    name: np.stack([getattr(t, name) for t, _, _ in seen], axis=1)
                    for name in fields
                }
            ),
            steps=np.stack([steps for _, steps, _ in seen], axis=1),
            requests=np.stack([requests for _, _, requests in seen], axis=1),
        )

    return draw


def product_gate(minimum_gain: float) -> Gate:
    """Return the product's rule: surely above the minimum, cautiously above zero."""
    return lambda evidence, alpha: (
        incautious_gate(minimum_gain)(evidence, alpha)
        & CAUTIOUS.above(evidence.totals, 0.0, alpha[:, np.newaxis])
    )


def incautious_gate(minimum_gain: float) -> Gate:
    """Return the confidence sequence alone, to show that what it promises needs no caution."""
    return lambda evidence, alpha: LIVE.above(evidence.totals, minimum_gain, alpha[:, np.newaxis])


def naive_gate(evidence: Evidence, _: Numbers) -> Flags:
    """Look again and again at a one-sided test of 5 % that is made for a single look.

    It takes requests for independent and spends nothing on the promotions before.
    """
    totals = evidence.totals
    enough = totals.effective_clusters >= LIVE.minimum_clusters
    error = np.sqrt(np.maximum(totals.variance(totals.gain), 1e-9))
    return np.asarray(enough & (totals.excess(0.0) > 1.645 * error))


def end(evidence: Evidence, passes: Flags) -> Ended:
    """Stop each lineage at the first look at which it passes."""
    passed = np.asarray(passes.any(axis=1))
    first = passes.argmax(axis=1)[:, np.newaxis]

    def at_end(values: Numbers) -> Numbers:
        return np.where(passed, np.take_along_axis(values, first, axis=1)[:, 0], np.inf)

    return Ended(passed, at_end(evidence.steps), at_end(evidence.requests))


def lineages(draws: list[Draw], gate: Gate, *, count: int, rng: np.random.Generator) -> list[Ended]:
    """Run `count` lineages through one promotion for each of `draws`, budgets included."""
    histories: list[tuple[bool, ...]] = [()] * count
    ended = []
    for draw in draws:
        budget = {past: promotion_alpha(ALPHA, past) for past in set(histories)}
        alpha = np.asarray([budget[past] for past in histories])
        evidence = draw(rng, count)
        now = end(evidence, gate(evidence, alpha))
        ended.append(now)
        histories = [
            (*past, bool(passed)) for past, passed in zip(histories, now.passed, strict=True)
        ]
    return ended


def _change_places(a: Numbers, b: Numbers, where: Flags) -> tuple[Numbers, Numbers]:
    return np.where(where, b, a), np.where(where, a, b)


def _moments(a: Numbers, b: Numbers, weight: Numbers, add: Callable[..., Numbers]) -> Totals:
    """Add clusters up along the second axis, with `cumsum` so that every look remains."""
    return Totals(
        a=add(a, axis=1),
        b=add(b, axis=1),
        aa=add(a * a, axis=1),
        ab=add(a * b, axis=1),
        bb=add(b * b, axis=1),
        weight=add(weight, axis=1),
        weight_squared=add(weight * weight, axis=1),
        count=add((weight > 0).astype(np.float64), axis=1),
    )


def positions_as_steps(walked: Walked) -> Walked:
    """Return conversations in which every position counts as a step: the length-biased way."""
    return replace(walked, stable=walked.candidate_positions, candidate=walked.stable_positions)
