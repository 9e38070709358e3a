"""Which arm of a comparison this engine runs now, and when that changes. Pure.

A comparison is in force only under the lease and once all its versions are here; then the engine
alternates, and what it does is evidence.
"""

from __future__ import annotations

from dataclasses import dataclass

from specfleet_agent.situation import Anchor, Serve, Situation, Worker
from specfleet_common.judge.switchback import Arm, Switchback
from specfleet_common.wire.messages import Comparison, VersionRef

DRIFT_SECONDS = 1.0
"""An anchor stays unless the aggregator's clock is off by more: each new one voids a block."""


@dataclass(frozen=True, slots=True)
class Running:
    """A comparison that is in force; equal as long as it goes on undisturbed."""

    id: str
    lineage_id: str
    plan: Switchback
    trial: VersionRef
    base: VersionRef
    engine: str
    began: float

    def block(self, at: float) -> int:
        """Return the block at a time of the agent's clock; negative before the first."""
        return self.plan.block_at(at - self.began)

    def begins_at(self, block: int) -> float:
        """Return when a block begins, by the agent's clock."""
        return self.began + block * self.plan.block_seconds

    def settles_at(self, block: int) -> float:
        """Return when a block's washout is over, by the agent's clock."""
        return self.begins_at(block) + self.plan.washout_seconds

    def arm(self, block: int) -> Arm:
        """Return what the engine runs in a block."""
        return self.plan.arm(self.engine, block)

    def version(self, block: int) -> VersionRef:
        """Return the version of the arm that the engine runs in a block."""
        return self.trial if self.arm(block) is Arm.TRIAL else self.base

    def seconds_to_border(self, now: float) -> float:
        """Return how long the block of now goes on."""
        return self.begins_at(self.block(now) + 1) - now


def anchored(
    before: Anchor | None, comparison: Comparison | None, *, asked_at: float, answered_at: float
) -> Anchor | None:
    """Return when the comparison of an answer began, which was given at some time in between."""
    if comparison is None:
        return None
    earliest = asked_at - comparison.elapsed_seconds
    latest = answered_at - comparison.elapsed_seconds
    if (
        before is not None
        and before.comparison == comparison.id
        and earliest - DRIFT_SECONDS <= before.began <= latest + DRIFT_SECONDS
    ):
        return before
    return Anchor(comparison.id, (earliest + latest) / 2)


def running(worker: Worker, seen: Situation, *, now: float) -> Running | None:
    """Return the comparison that is in force, None while there is none."""
    answer, page, reply = seen.leased(now), seen.page, seen.reply
    if answer is None or page is None or reply is None or worker.serve is not Serve.STABLE:
        return None
    comparison, anchor = answer.comparison, reply.anchor
    if comparison is None or anchor is None:
        return None
    if not all(seen.has(version) for version in (comparison.trial, comparison.base)):
        return None
    return Running(
        id=comparison.id,
        lineage_id=reply.lineage_id,
        plan=comparison.plan,
        trial=comparison.trial,
        base=comparison.base,
        engine=worker.id,
        began=anchor.began,
    )
