"""Who belongs to the fleet: every heartbeat renews a lease, and silence ends it. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from specfleet_common.wire.messages import Heartbeat

STABLE = "Stable"
_IDLE_PHASES = frozenset({"parked", "off"})
_REMEMBERED_LEASES = 10


@dataclass(frozen=True, slots=True)
class Member:
    """A worker's newest heartbeat, and when it came."""

    beat: Heartbeat
    heard_at: float
    worked_at: float = -math.inf
    """When a heartbeat last told of tokens that the one before did not have."""


Members = Mapping[str, Member]


def renew(members: Members, beat: Heartbeat, *, now: float, lease_seconds: float) -> Members:
    """Return the members after a heartbeat; who was silent for ten leases is forgotten."""
    forgotten_at = now - _REMEMBERED_LEASES * lease_seconds
    kept = {name: member for name, member in members.items() if member.heard_at > forgotten_at}
    before = members.get(beat.worker_id)
    if before is None:
        return {**kept, beat.worker_id: Member(beat, now)}
    has_worked = _output_tokens(beat) != _output_tokens(before.beat)
    return {**kept, beat.worker_id: Member(beat, now, now if has_worked else before.worked_at)}


def without(members: Members, worker_id: str) -> Members:
    """Return the members without one that has gone elsewhere."""
    return {name: member for name, member in members.items() if name != worker_id}


def live(members: Members, *, now: float, lease_seconds: float) -> frozenset[str]:
    """Return the workers that hold a lease."""
    return frozenset(
        name for name, member in members.items() if member.heard_at + lease_seconds > now
    )


def adaptable(members: Members, *, now: float, lease_seconds: float) -> dict[str, str]:
    """Return the live workers whose engines serve what is stable, with the digest seen there.

    An engine that has not said yet what it runs, or cannot be adapted, is not among them.
    """
    beats = [members[name].beat for name in live(members, now=now, lease_seconds=lease_seconds)]
    return {
        beat.worker_id: beat.observed_digest
        for beat in beats
        if beat.serve == STABLE and beat.observed_digest and not beat.engine_problem
    }


def busy(members: Members, *, since: float) -> frozenset[str]:
    """Return the workers whose engines have put out tokens since a time."""
    return frozenset(name for name, member in members.items() if member.worked_at >= since)


def idle(members: Members, *, since: float) -> frozenset[str]:
    """Return the workers whose engines have put out no token since a time, as far as is known."""
    return frozenset(members) - busy(members, since=since)


def training(members: Members, *, now: float, lease_seconds: float) -> frozenset[str]:
    """Return the live workers that can hand in a delta."""
    return _able(members[name] for name in live(members, now=now, lease_seconds=lease_seconds))


def _output_tokens(beat: Heartbeat) -> int:
    return sum(drafter.output_tokens for drafter in beat.drafters)


def _able(members: Iterable[Member]) -> frozenset[str]:
    return frozenset(
        member.beat.worker_id
        for member in members
        if member.beat.trains
        and not member.beat.engine_problem
        and member.beat.trainer.phase not in _IDLE_PHASES
    )
