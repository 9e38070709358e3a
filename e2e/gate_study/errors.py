"""How often heads that are no better are promoted, in traffic of all kinds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from e2e.gate_study.findings import Finding, Size, wilson_upper
from e2e.gate_study.lineages import (
    ALPHA,
    Draw,
    Gate,
    end,
    fresh_conversations,
    growing_conversations,
    incautious_gate,
    lineages,
    naive_gate,
    product_gate,
)
from e2e.gate_study.walks import Walked, World, joined, walk, walk_with_gain
from specfleet_common.judge.totals import Numbers

REQUESTS = 250
LOOKS = 50
CONVERSATIONS = 100
WORLD = World(disagreement=0.15)
"""Two heads draft differently at one position in sixteen."""
ICC_SPREADS = (0.02, 0.035, 0.09)
"""By how much, in logits, the candidate differs from one conversation to the next."""


def error_findings(size: Size, seed: int) -> list[Finding]:
    """Return the findings on false promotions."""
    rng = np.random.default_rng(seed)
    walked = walk(WORLD, size.conversations, rng)
    fresh = fresh_conversations(walked, REQUESTS, null=True)
    return [
        _over_a_lineage(fresh, size, seed),
        _after_right_promotions(fresh, size, seed),
        *(_one_promotion(*traffic, size, seed) for traffic in _traffics(walked, size, rng)),
        _mix_shift(size, seed),
        _at_the_minimum(size, seed),
        *_rare_losses(size, seed),
    ]


def _over_a_lineage(fresh: Draw, size: Size, seed: int) -> Finding:
    def share(gate: Gate) -> float:
        ended = lineages(
            [fresh] * size.promotions, gate, count=size.lineages, rng=np.random.default_rng(seed)
        )
        return float(np.any([one.passed for one in ended], axis=0).mean())

    mine = share(product_gate(0.0))
    return Finding(
        name="A/A over a lineage",
        claim=f"lineages that ever promote an equal head in {size.promotions} promotions, "
        f"looking after each of {REQUESTS} requests",
        value=mine,
        limit=ALPHA,
        at_most=True,
        naive=share(naive_gate),
        detail={
            "lineages": size.lineages,
            "upper_95": wilson_upper(mine * size.lineages, size.lineages),
            "without_caution": share(incautious_gate(0.0)),
        },
    )


def _after_right_promotions(fresh: Draw, size: Size, seed: int) -> Finding:
    better = fresh_conversations(
        walk_with_gain(WORLD, 0.03, size.conversations, seed), REQUESTS, null=False
    )
    turns = [better, fresh] * (size.promotions // 2)
    ended = lineages(turns, product_gate(0.0), count=size.lineages, rng=np.random.default_rng(seed))
    false = np.any([one.passed for one in ended[1::2]], axis=0).mean()
    return Finding(
        name="A/A after right promotions",
        claim="lineages that ever promote an equal head when every other one is 3 % better, "
        "and its budget is handed on",
        value=float(false),
        limit=ALPHA,
        at_most=True,
        detail={"better_promoted": float(np.mean([one.passed.mean() for one in ended[::2]]))},
    )


def _traffics(
    walked: Walked, size: Size, rng: np.random.Generator
) -> Iterator[tuple[str, str, Draw, dict[str, float]]]:
    """Yield name, description, draw and details of each kind of traffic."""
    for spread in ICC_SPREADS:
        world = replace(WORLD, conversation_spread=spread, requests_each=8)
        talks = walk(world, size.conversations // 8, rng)
        correlation = talks.correlation
        yield (
            f"correlated requests, ICC {correlation:.2f}",
            f"{CONVERSATIONS} conversations of 8 requests",
            growing_conversations(talks, CONVERSATIONS, looks=LOOKS, null=True, repeats=_once),
            {"icc": correlation},
        )
    yield (
        "few big conversations",
        "3 of 60 conversations make 76 % of the requests",
        growing_conversations(talks, 60, looks=LOOKS, null=True, repeats=_three_big),
        {"icc": correlation},
    )
    yield (
        "repeated prompts",
        "prompts come 1 to 300 times, Pareto-distributed with exponent 1",
        growing_conversations(walked, 150, looks=LOOKS, null=True, repeats=_pareto),
        {},
    )
    long = replace(WORLD, mean_tokens=300.0, length_spread=1.8, longest=16_000)
    yield (
        "heavy-tailed lengths",
        f"{REQUESTS} requests of 8 to 16,000 tokens, log-normal with a spread of 1.8",
        fresh_conversations(walk(long, size.conversations // 3, rng), REQUESTS, null=True),
        {},
    )
    yield (
        "two requests per hour",
        "two weeks of them, a look after each",
        fresh_conversations(walked, 2 * 24 * 14, null=True),
        {"days_until_first_verdict": 30 / 48},
    )


def _one_promotion(
    name: str, description: str, draw: Draw, detail: dict[str, float], size: Size, seed: int
) -> Finding:
    evidence = draw(np.random.default_rng(seed), size.lineages)
    budget = np.full(size.lineages, ALPHA)
    passed, incautious, naive = (
        float(end(evidence, gate(evidence, budget)).passed.mean())
        for gate in (product_gate(0.0), incautious_gate(0.0), naive_gate)
    )
    effective = evidence.totals.effective_clusters[:, -1].mean()
    return Finding(
        name=name,
        claim=f"promotions of an equal head at the full budget: {description}",
        value=passed,
        limit=ALPHA,
        at_most=True,
        naive=naive,
        detail={
            **detail,
            "effective_conversations": float(effective),
            "without_caution": incautious,
        },
    )


def _mix_shift(size: Size, seed: int) -> Finding:
    """Equal heads; the candidate's own engines get 60 % easy requests, the others 40 %."""
    rng = np.random.default_rng(seed)
    kinds = [walk(replace(WORLD, base=base), size.conversations // 2, rng) for base in (0.2, 1.4)]
    pool = joined(kinds)
    paired = fresh_conversations(pool, REQUESTS, null=True)
    evidence = paired(rng, size.lineages)
    passed = end(evidence, product_gate(0.0)(evidence, np.full(size.lineages, ALPHA))).passed.mean()
    half = (size.lineages, REQUESTS // 2)
    lengths = []
    for easy in (0.6, 0.4):
        kind = rng.random(half) < easy
        chosen = rng.integers(0, size.conversations // 2, half) + kind * (size.conversations // 2)
        lengths.append((pool.tokens[chosen, 0], pool.stable[chosen, 0]))
    return Finding(
        name="traffic-mix shift between arms",
        claim="promotions of an equal head whose own engines get 60 % easy requests, "
        "those of stable 40 %",
        value=float(passed),
        limit=ALPHA,
        at_most=True,
        naive=float(_unpaired_gain_is_sure(*lengths[0], *lengths[1]).mean()),
    )


def _unpaired_gain_is_sure(x1: Numbers, d1: Numbers, x0: Numbers, d0: Numbers) -> Numbers:
    """Compare tokens per step of separate requests once, at 5 %, by the delta method."""
    ratios, errors = [], []
    for x, d in ((x1, d1), (x0, d0)):
        ratio = x.sum(1) / d.sum(1)
        residual = x - ratio[:, np.newaxis] * d
        ratios.append(ratio)
        errors.append((residual**2).sum(1) / d.sum(1) ** 2)
    return np.asarray(ratios[0] - ratios[1] > 1.645 * np.sqrt(errors[0] + errors[1]))


def _at_the_minimum(size: Size, seed: int) -> Finding:
    walked = walk_with_gain(WORLD, 0.005, size.conversations, seed)
    evidence = fresh_conversations(walked, 2 * REQUESTS, null=False)(
        np.random.default_rng(seed), size.lineages
    )
    passes = product_gate(walked.gain)(evidence, np.full(size.lineages, ALPHA))
    return Finding(
        name="exactly the minimum gain",
        claim="promotions of a head that is +0.5 % better where more than +0.5 % is required",
        value=float(end(evidence, passes).passed.mean()),
        limit=ALPHA,
        at_most=True,
    )


def _rare_losses(size: Size, seed: int) -> Iterator[Finding]:
    """Heads that gain a little nearly everywhere, and lose it all on a rare kind of traffic."""

    def promoted(rare: float, loss: float) -> tuple[float, float]:
        losing = walk_with_gain(WORLD, -loss, size.conversations // 4, seed)
        losing = losing.first(round(rare / (1 - rare) * size.conversations))
        lost = losing.candidate.sum() - losing.stable.sum()
        gaining = walk_with_gain(WORLD, 0.0, size.conversations, seed + 1)
        little = lost / (gaining.stable.sum() - lost)
        gaining = walk_with_gain(WORLD, float(little), size.conversations, seed + 1)
        pool = joined([gaining, losing])
        evidence = fresh_conversations(pool, 2 * REQUESTS, null=False)(
            np.random.default_rng(seed), size.lineages
        )
        budget = np.full(size.lineages, ALPHA)
        cautious, incautious = (
            float(end(evidence, gate(evidence, budget)).passed.mean())
            for gate in (product_gate(0.0), incautious_gate(0.0))
        )
        return cautious, incautious

    for text, rare, loss, limit in (
        ("one conversation in ten loses 10 %", 0.1, 0.1, ALPHA),
        ("one conversation in thirty loses 10 %", 1 / 30, 0.1, ALPHA),
        ("one conversation in thirty loses 30 %", 1 / 30, 0.3, None),
    ):
        cautious, incautious = promoted(rare, loss)
        yield Finding(
            name=f"rare losses: {text}",
            claim="promotions of a head that gains as much on all others, minimum gain 0",
            value=cautious,
            limit=limit,
            at_most=True,
            detail={"without_caution": incautious},
        )


def _once(_: np.random.Generator, shape: tuple[int, int]) -> Numbers:
    return np.ones(shape)


def _three_big(_: np.random.Generator, shape: tuple[int, int]) -> Numbers:
    times: Numbers = np.ones(shape)
    times[:, :3] = 60
    return times


def _pareto(rng: np.random.Generator, shape: tuple[int, int]) -> Numbers:
    return np.asarray(np.minimum(np.floor(1 + rng.pareto(1.0, shape)), 300.0))
