"""Canary: does a drafter make live engines slower? Tokens per second in which the engine had work.

The same comparison tells after a promotion whether stable has become worse than stock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from specfleet_common.judge.confidence import ConfidenceSequence
from specfleet_common.judge.deciding import Budget, Requirement, decide
from specfleet_common.judge.pairing import Observation, paired_clusters
from specfleet_common.judge.records import Block, union
from specfleet_common.judge.switchback import Arm, Switchback, counted_blocks
from specfleet_common.judge.totals import add_up
from specfleet_common.judge.verdicts import Effect, Verdict

SPEED = ConfidenceSequence(scale=0.1, minimum_clusters=10)
"""In pairs of busy blocks: what twenty to forty pairs add that differ by 5 to 7 % by chance."""
ACCEPTANCE = ConfidenceSequence(scale=1000.0, minimum_clusters=10)
"""In verify steps: what some thousands add."""


@dataclass(frozen=True, slots=True)
class LiveComparison:
    """Two arms of a switchback: what they are called and what they run."""

    plan: Switchback
    trial: str
    base: str
    digests: Mapping[Arm, str]

    @property
    def name(self) -> str:
        """Return the comparison's name in sentences."""
        return f"{self.trial} over {self.base}"


def judge_canary(
    blocks: Iterable[Block],
    comparison: LiveComparison,
    *,
    margin: float,
    budget: Budget,
    replayed: Effect | None = None,
) -> Verdict:
    """Say whether a loss of more than `margin` is excluded; `replayed` is what replay has promised.

    Engines must not contradict each other, nor batch bands, nor live acceptance what replay said.
    """
    counted = counted_blocks(comparison.plan, comparison.digests, union(blocks))
    speed = speed_requirement(counted, comparison, margin=margin)
    consistent = [
        _parts(counted, comparison, budget, lambda block: f"on {block.engine}"),
        _parts(counted, comparison, budget, lambda block: f"in batch band {block.band}"),
    ]
    if replayed is not None:
        live = acceptance_requirement(counted, comparison)
        consistent.append([replayed, live.effect(budget)])
    return decide([speed], budget, consistent=consistent)


def speed_requirement(
    blocks: Sequence[Block], comparison: LiveComparison, *, margin: float
) -> Requirement:
    """Return the gain in tokens per busy second over counted blocks."""
    settled_seconds = comparison.plan.block_seconds - comparison.plan.washout_seconds
    return _requirement(
        blocks,
        comparison,
        measure="tokens per busy second",
        exposure=lambda block: block.busy_seconds,
        unit=settled_seconds / 2,
        sequence=SPEED,
        at_least=-margin,
    )


def acceptance_requirement(blocks: Sequence[Block], comparison: LiveComparison) -> Requirement:
    """Return the gain in tokens per verify step over counted blocks."""
    return _requirement(
        blocks,
        comparison,
        measure="tokens per verify step",
        exposure=lambda block: block.verify_steps,
        unit=1.0,
        sequence=ACCEPTANCE,
        at_least=0.0,
    )


def _requirement(
    blocks: Sequence[Block],
    comparison: LiveComparison,
    *,
    measure: str,
    exposure: Callable[[Block], float],
    unit: float,
    sequence: ConfidenceSequence,
    at_least: float,
) -> Requirement:
    clusters = paired_clusters(
        (
            Observation(
                cluster=(block.engine, block.block // 2),
                stratum=block.band,
                arm=comparison.plan.arm(block.engine, block.block),
                amount=block.tokens,
                exposure=exposure(block),
            )
            for block in blocks
        ),
        unit=unit,
    )
    return Requirement(
        name=comparison.name,
        measure=measure,
        records="blocks",
        clusters="pairs",
        totals=add_up(clusters),
        num_records=len({(block.engine, block.block) for block in blocks}),
        num_clusters=len(clusters),
        sequence=sequence,
        at_least=at_least,
        harm=0.0,
    )


def _parts(
    blocks: Sequence[Block],
    comparison: LiveComparison,
    budget: Budget,
    part_of: Callable[[Block], str],
) -> list[Effect]:
    """Return the effect in each part of the traffic, which share the budget for being wrong."""
    parts = sorted({part_of(block) for block in blocks})
    each = budget.failing / max(1, len(parts))
    effects = []
    for part in parts:
        mine = [block for block in blocks if part_of(block) == part]
        requirement = speed_requirement(mine, comparison, margin=0.0)
        effects.append(
            replace(requirement, name=f"{comparison.name} {part}").effect(Budget(each, each))
        )
    return effects
