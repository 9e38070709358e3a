"""Leases: who is live, who trains, who is forgotten."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specfleet_aggregator.membership import (
    Members,
    adaptable,
    busy,
    idle,
    live,
    renew,
    training,
    without,
)
from specfleet_aggregator.tests.builders import TRAINING, beat
from specfleet_common.wire.messages import DrafterCounters

LEASE_SECONDS = 10.0


def after(*beats: tuple[str, float]) -> Members:
    members: Members = {}
    for worker, now in beats:
        members = renew(members, beat(worker), now=now, lease_seconds=LEASE_SECONDS)
    return members


def test_a_lease_ends_when_the_worker_is_silent() -> None:
    members = after(("a", 0.0), ("b", 5.0))

    assert live(members, now=9.9, lease_seconds=LEASE_SECONDS) == {"a", "b"}
    assert live(members, now=10.0, lease_seconds=LEASE_SECONDS) == {"b"}


def test_a_worker_that_was_silent_for_ten_leases_is_forgotten() -> None:
    members = after(("a", 0.0), ("b", 99.0))
    assert set(members) == {"a", "b"}

    members = renew(members, beat("b"), now=100.0, lease_seconds=LEASE_SECONDS)

    assert set(members) == {"b"}


def test_a_worker_that_leaves_is_not_live() -> None:
    assert live(
        without(after(("a", 0.0), ("b", 0.0)), "a"), now=1.0, lease_seconds=LEASE_SECONDS
    ) == {"b"}


def test_an_engine_is_busy_for_a_while_after_its_last_tokens() -> None:
    members: Members = {}
    for now, tokens in ((0.0, 5), (1.0, 9), (2.0, 9)):
        counters = DrafterCounters("stock", 1, (1,), (0,), tokens, 0.5)
        told = replace(beat("a"), drafters=(counters,))
        members = renew(members, told, now=now, lease_seconds=LEASE_SECONDS)
        members = renew(members, beat("idle"), now=now, lease_seconds=LEASE_SECONDS)

    assert busy(members, since=1.0) == {"a"}
    assert busy(members, since=1.1) == set()
    assert idle(members, since=1.0) == {"idle"}


@pytest.mark.parametrize(
    ("trains", "phase", "counts"),
    [
        pytest.param(True, "training", True, id="training"),
        pytest.param(True, "waiting", True, id="waiting-for-traffic"),
        pytest.param(True, "restarting", True, id="trainer-restarts"),
        pytest.param(True, "parked", False, id="trainer-given-up"),
        pytest.param(True, "off", False, id="no-trainer"),
        pytest.param(False, "training", False, id="cohort-does-not-train"),
    ],
)
def test_who_can_hand_in_a_delta(trains: bool, phase: str, counts: bool) -> None:
    trainer = replace(TRAINING, phase=phase)
    members = renew(
        {}, beat("a", trains=trains, trainer=trainer), now=0.0, lease_seconds=LEASE_SECONDS
    )

    assert (training(members, now=1.0, lease_seconds=LEASE_SECONDS) == {"a"}) is counts


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 50)), min_size=1))
def test_a_worker_is_live_exactly_while_its_newest_lease_runs(
    beats: list[tuple[str, float]],
) -> None:
    beats = sorted(beats, key=lambda one: one[1])
    newest = {worker: at for worker, at in beats}  # noqa: C416 (the last one wins)
    now = beats[-1][1]

    members = after(*beats)

    expected = {worker for worker, at in newest.items() if at + LEASE_SECONDS > now}
    assert live(members, now=now, lease_seconds=LEASE_SECONDS) == expected


def test_engines_that_serve_what_is_stable_are_those_that_can_be_told_what_to_run() -> None:
    beats = [
        replace(beat("stable"), serve="Stable", observed_digest="a" * 64),
        replace(beat("stock"), serve="Stock"),
        replace(beat("older")),
        replace(beat("starting"), serve="Stable", observed_digest=""),
        replace(beat("broken"), serve="Stable", engine_problem="no drafter"),
    ]
    members: Members = {}
    for one in beats:
        members = renew(members, one, now=0.0, lease_seconds=10.0)

    assert adaptable(members, now=1.0, lease_seconds=10.0) == {"stable": "a" * 64}
    assert adaptable(members, now=11.0, lease_seconds=10.0) == {}
