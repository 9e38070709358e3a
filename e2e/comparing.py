"""Compares drafters on engines that do nothing else: the same prompts, in blocks, arm after arm.

Nothing trains meanwhile. Weights are switched through the bank, as an agent would do it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from e2e.blocks import Block, plan
from e2e.engines import Answer, Engine


@dataclass(frozen=True, slots=True)
class Arm:
    """One engine with some weights; None leaves it as it is, because it has no drafter."""

    name: str
    engine: Engine
    weights: bytes | None
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """All blocks, and how many answers of the other arms were compared with the first arm's."""

    blocks: tuple[Block, ...]
    compared: int
    different: int


def compare(
    arms: Sequence[Arm],
    prompts: Sequence[str],
    *,
    rounds: int,
    max_tokens: int,
    seed: int,
    report: Callable[[Block], None],
) -> Comparison:
    """Run every arm once in each round, in random order, after a block of each to warm up."""
    named = {arm.name: arm for arm in arms}
    reference, *_ = [_run(arm, prompts, round_=-1, max_tokens=max_tokens)[1] for arm in arms]
    blocks: list[Block] = []
    different = 0
    for round_, order in enumerate(plan(list(named), rounds=rounds, seed=seed)):
        for name in order:
            block, answers = _run(named[name], prompts, round_=round_, max_tokens=max_tokens)
            different += sum(a != b for a, b in zip(answers, reference, strict=True))
            blocks.append(block)
            report(block)
    return Comparison(tuple(blocks), len(blocks) * len(prompts), different)


def _run(
    arm: Arm, prompts: Sequence[str], *, round_: int, max_tokens: int
) -> tuple[Block, list[Answer]]:
    engine = arm.engine
    steps = accepted = 0
    if arm.weights is not None:
        engine.publish(arm.weights, arm.digest, "version")
        steps, accepted = engine.counted()
    began = time.monotonic()
    answers = engine.complete(prompts, max_tokens=max_tokens)
    seconds = time.monotonic() - began
    if arm.weights is not None:
        steps, accepted = (
            new - old for new, old in zip(engine.counted(), (steps, accepted), strict=True)
        )
    block = Block(
        round=round_,
        arm=arm.name,
        seconds=seconds,
        tokens=sum(len(answer.output) for answer in answers),
        verify_steps=steps,
        accepted=accepted,
    )
    return block, answers
