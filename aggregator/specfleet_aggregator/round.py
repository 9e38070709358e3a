"""How a round counts deltas and when it closes. Pure: no clock, no network, no tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from specfleet_common.lineage import short
from specfleet_common.wire.messages import DeltaHeader, DeltaReply, Outcome, VersionRef


@dataclass(frozen=True, slots=True)
class RoundPolicy:
    """When a round may close."""

    quorum_minimum: int
    quorum_percent: int
    max_round_seconds: float


@dataclass(frozen=True, slots=True)
class Round:
    """Round `number` makes version `number + 1`; `deltas` has one header per worker."""

    number: int
    base: VersionRef
    opened_at: float
    deltas: Mapping[str, DeltaHeader]
    closing: bool = False


def open_round(number: int, base: VersionRef, *, now: float) -> Round:
    """Return a round that nobody has reported to."""
    return Round(number, base, now, {})


def quorum(policy: RoundPolicy, *, training: int) -> int:
    """Return how many deltas close a round at once."""
    share = math.ceil(policy.quorum_percent * training / 100)
    return max(policy.quorum_minimum, share)


def close_reason(round_: Round, policy: RoundPolicy, *, training: int, now: float) -> str | None:
    """Say why the round may close now, or None while it must stay open."""
    reported = len(round_.deltas)
    needed = quorum(policy, training=training)
    if reported >= needed:
        return f"{reported} deltas reached the quorum of {needed}"
    waited = now - round_.opened_at
    if reported >= policy.quorum_minimum and waited >= policy.max_round_seconds:
        return f"{reported} of {needed} deltas within {waited:.0f} s, the minimum is enough"
    return None


def open_reason(round_: Round, policy: RoundPolicy, *, training: int) -> str:
    """Say what the round waits for."""
    needed = quorum(policy, training=training)
    if round_.closing:
        return f"version {round_.number + 1} is being made from {len(round_.deltas)} deltas"
    if not training:
        return f"{len(round_.deltas)} of {needed} deltas, no live worker trains"
    return f"{len(round_.deltas)} of {needed} deltas, {training} live workers train"


def judge(round_: Round, header: DeltaHeader) -> DeltaReply | None:
    """Say why this delta cannot count, or None when it may."""
    if (header.round, header.base_version) != (round_.number, round_.base.number):
        return DeltaReply(
            Outcome.STALE,
            f"the delta is of round {header.round} from version {header.base_version}, but round "
            f"{round_.number} from version {round_.base.number} is open",
        )
    counted = round_.deltas.get(header.worker_id)
    if counted is not None:
        return DeltaReply(
            Outcome.DUPLICATE,
            f"delta {short(counted.digest)} of {header.worker_id} counts for round "
            f"{round_.number} already",
        )
    if round_.closing:
        return DeltaReply(Outcome.STALE, f"round {round_.number} has just closed")
    return None


def count(round_: Round, header: DeltaHeader) -> tuple[Round, DeltaReply]:
    """Return the round with this delta, or unchanged with the reason why it cannot count."""
    refusal = judge(round_, header)
    if refusal is not None:
        return round_, refusal
    deltas = {**round_.deltas, header.worker_id: header}
    reply = DeltaReply(Outcome.ACCEPTED, f"{len(deltas)} deltas in round {round_.number}")
    return replace(round_, deltas=deltas), reply
