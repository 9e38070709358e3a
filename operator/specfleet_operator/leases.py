"""Decides who holds a Lease. Pure.

Clocks of two machines are never compared: a Lease has run out when it has not changed for its
whole length on the clock of the one who looks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from specfleet_operator.kinds import LEASE
from specfleet_operator.observed import Object

RENEW_SHARE = 2 / 3
"""The holder stops to write after this part of the length without a renewal."""
REQUEST_SHARE = 1 / 4
"""No request takes longer than this part, so none is still on its way when the Lease ends."""
PAUSE_SHARE = 1 / 5
"""The holder renews, and others look, this often."""

Step = Literal["create", "take", "renew", "wait"]


@dataclass(frozen=True, slots=True)
class Sighting:
    """A Lease as it was read, and since when it has been read unchanged (monotonic seconds)."""

    lease: Object | None
    since: float


def sighted(before: Sighting | None, lease: Object | None, now: float) -> Sighting:
    """Return what is known after reading the Lease again."""
    if before is not None and _stamp(before.lease) == _stamp(lease):
        return Sighting(lease, before.since)
    return Sighting(lease, now)


def next_step(seen: Sighting, *, holder: str, now: float) -> Step:
    """Say what `holder` may do about the Lease now."""
    if seen.lease is None:
        return "create"
    current = holder_of(seen.lease)
    if current == holder:
        return "renew"
    if not current or is_over(seen, now=now):
        return "take"
    return "wait"


def is_over(seen: Sighting, *, now: float) -> bool:
    """Say whether the holder has let the Lease run out."""
    return seen.lease is None or now - seen.since > length_seconds(seen.lease)


def holder_of(lease: Object) -> str:
    """Return who holds the Lease, empty when it was given back."""
    return str((lease.get("spec") or {}).get("holderIdentity") or "")


def length_seconds(lease: Object) -> float:
    """Return how long the Lease lasts without a renewal."""
    return float((lease.get("spec") or {}).get("leaseDurationSeconds") or 0)


def new_lease(
    namespace: str, name: str, *, holder: str, seconds: float, wall_clock: float
) -> Object:
    """Return a Lease that nobody held before."""
    return {
        "apiVersion": LEASE.api_version,
        "kind": LEASE.name,
        "metadata": {"namespace": namespace, "name": name},
        "spec": _spec(holder, seconds, acquired=_time(wall_clock), wall_clock=wall_clock, number=0),
    }


def held(lease: Object, *, holder: str, seconds: float, wall_clock: float) -> Object:
    """Return the Lease taken or renewed; it names the state it is based on."""
    spec: Mapping[str, Any] = lease.get("spec") or {}
    number = int(spec.get("leaseTransitions") or 0)
    acquired = str(spec.get("acquireTime") or _time(wall_clock))
    if holder_of(lease) != holder:
        number, acquired = number + 1, _time(wall_clock)
    return dict(lease) | {
        "spec": _spec(holder, seconds, acquired=acquired, wall_clock=wall_clock, number=number)
    }


def given_back(lease: Object) -> Object:
    """Return the Lease without a holder, so that the next one need not wait."""
    return dict(lease) | {"spec": dict(lease.get("spec") or {}) | {"holderIdentity": ""}}


def _spec(
    holder: str, seconds: float, *, acquired: str, wall_clock: float, number: int
) -> Mapping[str, Any]:
    return {
        "holderIdentity": holder,
        # Others may only wait longer than the holder thinks, never shorter.
        "leaseDurationSeconds": math.ceil(seconds),
        "acquireTime": acquired,
        "renewTime": _time(wall_clock),
        "leaseTransitions": number,
    }


def _stamp(lease: Object | None) -> str | None:
    return None if lease is None else lease["metadata"]["resourceVersion"]


def _time(wall_clock: float) -> str:
    moment = datetime.fromtimestamp(wall_clock, tz=UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
