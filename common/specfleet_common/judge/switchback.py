"""Which drafter an engine runs when: pairs of blocks in random order, drawn from a pinned seed.

Swapping the labels inside a pair is as likely as not doing so. If the arms do not differ, what a
pair contributes is therefore symmetric about zero, whatever traffic and the machine do meanwhile:
this is what the confidence sequence presumes. Everybody who knows the plan computes the same arms.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from specfleet_common.judge.records import Block, Request


class Arm(StrEnum):
    """A side of a comparison on live engines."""

    TRIAL = "Trial"
    BASE = "Base"


@dataclass(frozen=True, slots=True)
class Switchback:
    """The plan of a promotion's canary, of an A/A test, or of the comparison with stock."""

    seed: str
    block_seconds: float
    washout_seconds: float
    """What begins in the first seconds of a block does not count: the block before still works."""
    one_pair_in: int = 1
    """The share of pairs that compare; an engine runs the trial arm in all blocks of the others."""

    def __post_init__(self) -> None:
        if not 0 <= self.washout_seconds < self.block_seconds:
            raise ValueError(
                f"washout is {self.washout_seconds} s, expected at least 0 and less than a block, "
                f"which is {self.block_seconds} s"
            )
        if self.one_pair_in < 1:
            raise ValueError(f"one pair in {self.one_pair_in}, expected at least 1")

    def block_at(self, seconds: float) -> int:
        """Return the block at a time since the switchback began."""
        return int(seconds // self.block_seconds)

    def is_settled(self, seconds: float) -> bool:
        """Say whether a block's washout is over at a time since the switchback began."""
        return seconds % self.block_seconds >= self.washout_seconds

    def arm(self, engine: str, block: int) -> Arm:
        """Return what an engine runs in a block."""
        draw = self._draw(engine, block)
        first_is_trial = draw % 2 == 0
        if not self._compares(draw) or first_is_trial == (block % 2 == 0):
            return Arm.TRIAL
        return Arm.BASE

    def compares(self, engine: str, block: int) -> bool:
        """Say whether the pair of a block is one that compares."""
        return self._compares(self._draw(engine, block))

    def _draw(self, engine: str, block: int) -> int:
        text = f"{self.seed}/{engine}/{block // 2}".encode()
        return int.from_bytes(hashlib.sha256(text).digest()[:8])

    def _compares(self, draw: int) -> bool:
        return (draw // 2) % self.one_pair_in == 0


Pair = tuple[str, int]
"""An engine and the number of a pair of its blocks."""


def counted_blocks(
    plan: Switchback, digests: Mapping[Arm, str], blocks: Iterable[Block]
) -> tuple[Block, ...]:
    """Return the records of blocks in which the engine was seen to run its arm and nothing else."""
    records = tuple(blocks)
    foreign = {
        (record.engine, record.block)
        for record in records
        if record.digest != digests[plan.arm(record.engine, record.block)]
    }
    return tuple(
        record
        for record in records
        if (record.engine, record.block) not in foreign
        and plan.compares(record.engine, record.block)
    )


def counted_requests(
    plan: Switchback, digests: Mapping[Arm, str], requests: Iterable[Request]
) -> tuple[Request, ...]:
    """Return the requests that began in a settled block and saw no drafter but that of its arm.

    One that failed before any drafter proposed counts for the arm in whose block it began.
    """
    return tuple(
        request
        for request in requests
        if plan.is_settled(request.started)
        and plan.compares(request.engine, block := plan.block_at(request.started))
        and set(request.digests) <= {digests[plan.arm(request.engine, block)]}
    )
