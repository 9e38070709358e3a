"""How far the trainer is, and what it should do next. Pure."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

from specfleet_common.codecs.codec import Codec
from specfleet_common.exchange import Orders
from specfleet_common.fields import Count


class Action(enum.Enum):
    """What one turn of the loop does."""

    BEGIN = "begin"
    """Take the weights of the orders' version and start its round."""
    DELIVER = "deliver"
    """Write the round's delta."""
    TRAIN = "train"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class Progress:
    """Where in which round the weights are; kept with them across restarts."""

    lineage_id: str
    round: Count
    version: Count
    digest: str
    """Of the version the round starts from."""
    attempt: Count = 0
    """Above 0, the round is trained again because its delta was refused."""
    local_steps: Count = 0
    round_positions: Count = 0
    delta_digest: str = ""
    delta_codec: Codec = Codec.FLOAT32
    delta_positions: Count = 0
    local_digest: str = ""
    total_steps: Count = 0
    positions: Count = 0
    fresh: Count = 0
    """That of the orders it began with."""

    def is_of(self, orders: Orders) -> bool:
        """Say whether this is progress in the round of these orders."""
        mine = (self.lineage_id, self.round, self.version, self.digest, self.attempt)
        theirs = (orders.lineage_id, orders.round, orders.version, orders.digest, orders.attempt)
        return mine == theirs


@dataclass(frozen=True, slots=True)
class Next:
    """The next action, and the phase to report meanwhile."""

    action: Action
    phase: str


def next_action(orders: Orders, progress: Progress | None, *, has_data: bool) -> Next:
    """Say what to do now.

    After the delta, training goes on only for those who serve local weights; the next round drops
    that drift.
    """
    if progress is None or not progress.is_of(orders):
        return Next(Action.BEGIN, "waiting")
    if progress.local_steps >= orders.local_steps and not progress.delta_digest:
        return Next(Action.DELIVER, "training")
    if progress.delta_digest:
        drifts = has_data and orders.publish_every_steps > 0
        return Next(Action.TRAIN if drifts else Action.WAIT, "delivered")
    if not has_data:
        return Next(Action.WAIT, "waiting")
    return Next(Action.TRAIN, "training")


def begun(orders: Orders, before: Progress | None) -> Progress:
    """Return the progress at the start of the orders' round; totals go on within a lineage."""
    same = before is not None and before.lineage_id == orders.lineage_id
    return Progress(
        lineage_id=orders.lineage_id,
        round=orders.round,
        version=orders.version,
        digest=orders.digest,
        attempt=orders.attempt,
        total_steps=before.total_steps if before is not None and same else 0,
        positions=before.positions if before is not None and same else 0,
        fresh=orders.fresh,
    )


def starts_afresh(orders: Orders, before: Progress | None) -> bool:
    """Say whether nothing of what was learned before this round may go into it.

    Its delta was refused, or training starts from stable again: what the moments and the residual
    remember may be what did the damage.
    """
    return orders.attempt > 0 or (before is not None and before.fresh != orders.fresh)


def trained(progress: Progress, positions: int) -> Progress:
    """Return the progress after one step."""
    return replace(
        progress,
        local_steps=progress.local_steps + 1,
        round_positions=progress.round_positions + positions,
        total_steps=progress.total_steps + 1,
        positions=progress.positions + positions,
    )


def delivered(progress: Progress, digest: str, codec: Codec) -> Progress:
    """Return the progress after the delta was written."""
    return replace(
        progress,
        delta_digest=digest,
        delta_codec=codec,
        delta_positions=progress.round_positions,
    )


def is_publication_due(progress: Progress, orders: Orders) -> bool:
    """Say whether the local weights should be written after the step just made."""
    every = orders.publish_every_steps
    return every > 0 and progress.local_steps % every == 0
