"""Who belongs to the fleet: every heartbeat renews a lease, and silence ends it. Pure."""

from __future__ import annotations

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


Members = Mapping[str, Member]


def renew(members: Members, beat: Heartbeat, *, now: float, lease_seconds: float) -> Members:
    """Return the members after a heartbeat; who was silent for ten leases is forgotten."""
    forgotten_at = now - _REMEMBERED_LEASES * lease_seconds
    kept = {name: member for name, member in members.items() if member.heard_at > forgotten_at}
    return {**kept, beat.worker_id: Member(beat, now)}


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


def training(members: Members, *, now: float, lease_seconds: float) -> frozenset[str]:
    """Return the live workers that can hand in a delta."""
    return _able(members[name] for name in live(members, now=now, lease_seconds=lease_seconds))


def _able(members: Iterable[Member]) -> frozenset[str]:
    return frozenset(
        member.beat.worker_id
        for member in members
        if member.beat.trains
        and not member.beat.engine_problem
        and member.beat.trainer.phase not in _IDLE_PHASES
    )
