"""A/A: do engines measure no difference where there is none?

Both arms run the same weights, but are written anew for each block: what a swap itself does to an
engine, and what the measurement does, would show as a difference between the arms.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from specfleet_common.judge.canary import LiveComparison, speed_requirement
from specfleet_common.judge.deciding import Budget, decide
from specfleet_common.judge.records import Block, union
from specfleet_common.judge.switchback import Arm, Switchback, counted_blocks
from specfleet_common.judge.verdicts import Outcome, Verdict


def judge_equivalence(
    blocks: Iterable[Block], plan: Switchback, *, digest: str, margin: float, alpha: float
) -> Verdict:
    """Say whether the arms surely differ by less than `margin`, in both directions.

    Two one-sided tests, both of which must hold, so that each may use all of alpha. Blocks for
    which no weights were written do not count.
    """
    same = {Arm.TRIAL: digest, Arm.BASE: digest}
    comparison = LiveComparison(plan, "first arm", "second arm", same)
    counted = counted_blocks(plan, same, union(blocks))
    swapped = [block for block in counted if block.swaps > 0]
    one_way = speed_requirement(swapped, comparison, margin=margin)
    other_way = replace(one_way, name="second arm over first arm", totals=one_way.totals.inverted())
    both = [replace(way, harm=-margin) for way in (one_way, other_way)]
    verdict = decide(both, Budget(passing=alpha, failing=alpha))
    if verdict.outcome is not Outcome.HARMFUL:
        return verdict
    sentence = verdict.sentence.replace("Harmful", "Not equivalent", 1)
    return replace(verdict, outcome=Outcome.NOT_EQUIVALENT, sentence=sentence)
