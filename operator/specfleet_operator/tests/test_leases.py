"""Who holds a Lease, as a table and as laws."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specfleet_operator import leases
from specfleet_operator.leases import Sighting, held, new_lease, next_step, sighted
from specfleet_operator.observed import Object


def a_lease(holder: str, *, seconds: float = 15.0, version: str = "1") -> dict[str, Any]:
    fresh = new_lease("ns", "l", holder=holder, seconds=seconds, wall_clock=0.0)
    return dict(fresh) | {"metadata": dict(fresh["metadata"]) | {"resourceVersion": version}}


@pytest.mark.parametrize(
    ("lease", "unchanged_seconds", "step"),
    [
        pytest.param(None, 0.0, "create", id="nobody-ever-held-it"),
        pytest.param(a_lease("me"), 0.0, "renew", id="mine"),
        pytest.param(a_lease("me"), 100.0, "renew", id="mine-and-nobody-took-it"),
        pytest.param(a_lease(""), 0.0, "take", id="given-back"),
        pytest.param(a_lease("other"), 15.0, "wait", id="another's-until-its-last-moment"),
        pytest.param(a_lease("other"), 15.1, "take", id="another's-and-run-out"),
    ],
)
def test_next_step(lease: Object | None, unchanged_seconds: float, step: str) -> None:
    seen = Sighting(lease, since=1000.0)

    assert next_step(seen, holder="me", now=1000.0 + unchanged_seconds) == step


def test_a_lease_that_changed_is_fresh_however_old_its_times_are() -> None:
    before = Sighting(a_lease("other", version="1"), since=0.0)

    after = sighted(before, a_lease("other", version="2"), now=100.0)

    assert next_step(after, holder="me", now=114.0) == "wait"


def test_a_lease_that_did_not_change_grows_older() -> None:
    before = Sighting(a_lease("other"), since=0.0)

    after = sighted(before, a_lease("other"), now=100.0)

    assert next_step(after, holder="me", now=100.0) == "take"


def test_taking_a_lease_counts_a_transition_and_renewing_does_not() -> None:
    taken = held(a_lease("other"), holder="me", seconds=15.0, wall_clock=5.0)

    renewed = held(taken, holder="me", seconds=15.0, wall_clock=9.0)

    assert taken["spec"]["leaseTransitions"] == renewed["spec"]["leaseTransitions"] == 1
    assert taken["spec"]["acquireTime"] == renewed["spec"]["acquireTime"]
    assert taken["spec"]["renewTime"] < renewed["spec"]["renewTime"]


def test_others_never_wait_for_less_than_the_holder_counts_on() -> None:
    assert a_lease("me", seconds=3.9)["spec"]["leaseDurationSeconds"] == 4


def test_a_write_that_begins_in_time_ends_before_the_lease() -> None:
    assert leases.RENEW_SHARE + leases.REQUEST_SHARE < 1


@dataclasses.dataclass
class _Candidate:
    """One who may freeze at any moment: it acts on what it saw, but looks at its clock first."""

    name: str
    seen: Sighting | None = None
    renewed_at: float | None = None

    def holds(self, now: float) -> bool:
        return self.renewed_at is not None and now - self.renewed_at < 10.0


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.floats(0.0, 30.0))))
def test_never_do_two_hold_it_whoever_freezes_for_how_long(
    turns: list[tuple[str, float]],
) -> None:
    candidates = {name: _Candidate(name) for name in ("a", "b", "c")}
    stored: dict[str, Any] | None = None
    now, version = 0.0, 0

    for name, pause in turns:
        now += pause
        one = candidates[name]
        one.seen = sighted(one.seen, stored, now)
        if next_step(one.seen, holder=name, now=now) == "wait":
            one.renewed_at = None
            continue
        version += 1
        stored = a_lease(name, version=str(version))
        one.seen = sighted(one.seen, stored, now)
        one.renewed_at = now

        assert [other.name for other in candidates.values() if other.holds(now)] == [name]
