"""Blocks of the same prompts under several drafters, in random order, and paired gains. Pure.

What a machine does besides changes over seconds, so arms are compared within a round only.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from e2e.report.resampling import bootstrap_interval


@dataclass(frozen=True, slots=True)
class Block:
    """All prompts once under one arm; an arm without a drafter makes no verify steps."""

    round: int
    arm: str
    seconds: float
    tokens: int
    verify_steps: int
    accepted: int

    @property
    def tokens_per_second(self) -> float:
        """Return output tokens over the time of the block."""
        return self.tokens / self.seconds

    @property
    def acceptance_length(self) -> float | None:
        """Return tokens per verify step, None when there was no step."""
        return 1.0 + self.accepted / self.verify_steps if self.verify_steps else None


@dataclass(frozen=True, slots=True)
class Gain:
    """By how much an arm is faster than another; the interval is a bootstrap over rounds."""

    percent: float
    low_percent: float
    high_percent: float
    rounds: int


def plan(arms: Sequence[str], *, rounds: int, seed: int) -> list[tuple[str, ...]]:
    """Return the order of the arms in each round."""
    choice = random.Random(seed)
    return [tuple(choice.sample(arms, len(arms))) for _ in range(rounds)]


def paired_gain(blocks: Sequence[Block], arm: str, base: str, *, seed: int) -> Gain:
    """Return the mean gain in tokens per second (of the logarithms, so that order is no matter)."""
    speeds = {(block.round, block.arm): block.tokens_per_second for block in blocks}
    rounds = sorted({block.round for block in blocks})
    ratios = [math.log(speeds[round_, arm] / speeds[round_, base]) for round_ in rounds]
    low, high = bootstrap_interval(ratios, seed=seed)
    percent, low, high = (100 * math.expm1(ratio) for ratio in (fmean(ratios), low, high))
    return Gain(percent, low, high, len(rounds))


def overall_acceptance(blocks: Sequence[Block], arm: str) -> float | None:
    """Return an arm's tokens per verify step over all its blocks."""
    mine = [block for block in blocks if block.arm == arm]
    steps = sum(block.verify_steps for block in mine)
    return 1.0 + sum(block.accepted for block in mine) / steps if steps else None


def overall_speed(blocks: Sequence[Block], arm: str) -> float:
    """Return an arm's output tokens per second over all its blocks."""
    mine = [block for block in blocks if block.arm == arm]
    return sum(block.tokens for block in mine) / sum(block.seconds for block in mine)


def break_even(blocks: Sequence[Block], arm: str, plain: str) -> float | None:
    """Return the acceptance length at which the arm would be as fast as no speculation.

    An arm's verify steps per second hardly depend on what they accept.
    """
    length = overall_acceptance(blocks, arm)
    if length is None:
        return None
    return length * overall_speed(blocks, plain) / overall_speed(blocks, arm)
