"""What one lineage's state says and how it moves."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from hypothesis.strategies import integers, sampled_from

from specfleet_aggregator import fleet, showing
from specfleet_aggregator.fleet import LineageState, WrongStock
from specfleet_aggregator.tests.builders import LINEAGE, STOCK_DIGEST, beat, header, policy
from specfleet_common.wire.messages import Outcome, VersionRef

STOCK = VersionRef(0, STOCK_DIGEST, 10)


def lineage_at(number: int = 0) -> LineageState:
    base = VersionRef(number, STOCK_DIGEST, 10)
    return fleet.restored(LineageState(LINEAGE), stock=STOCK, base=base, taken=number, now=0.0)


def test_a_worker_whose_engine_stopped_adapting_is_shown_and_not_waited_for() -> None:
    broken = replace(beat("broken"), engine_problem="RuntimeError: no draft")
    state, _ = fleet.heartbeat(lineage_at(), beat("whole"), policy(), now=0.0)
    state, _ = fleet.heartbeat(state, broken, policy(), now=0.0)

    shown = showing.show(state, policy(), now=1.0)

    assert (shown.live_workers, shown.training_workers) == (2, 1)
    assert [worker.engine_problem for worker in shown.workers] == ["RuntimeError: no draft", ""]


def test_stock_is_wanted_only_after_the_store_said_that_it_has_none() -> None:
    unknown = LineageState(LINEAGE)

    _, before = fleet.heartbeat(unknown, beat(), policy(), now=0.0)
    _, after = fleet.heartbeat(fleet.empty(unknown), beat(), policy(), now=0.0)

    assert (before.stock_wanted, after.stock_wanted) == (False, True)


def test_a_worker_whose_engine_has_not_started_is_not_asked_for_stock() -> None:
    state = fleet.empty(LineageState(LINEAGE))

    _, reply = fleet.heartbeat(state, beat(stock_digest=""), policy(), now=0.0)

    assert not reply.stock_wanted


def test_a_worker_with_another_stock_drafter_is_told_why_it_cannot_join() -> None:
    with pytest.raises(WrongStock, match="is aaaaaaaa, but lineage"):
        fleet.heartbeat(lineage_at(), beat(stock_digest="a" * 64), policy(), now=0.0)


def test_a_worker_is_told_the_newest_version_that_its_deltas_are_part_of() -> None:
    state = lineage_at(0)
    for name in ("both", "first", "gone"):
        state, _ = fleet.heartbeat(state, beat(name), policy(), now=0.0)
    state = opened(state, 1, "both", "first", "gone")
    state = opened(fleet.left(state, "gone"), 2, "both")

    counted = {
        name: fleet.heartbeat(state, beat(name), policy(), now=0.0)[1].counted_version
        for name in ("both", "first", "gone", "never")
    }

    assert counted == {"both": 2, "first": 1, "gone": 0, "never": 0}


def test_a_version_that_proved_damaged_counts_nobodys_delta() -> None:
    state, _ = fleet.heartbeat(lineage_at(0), beat(), policy(), now=0.0)
    state = opened(opened(state, 1, "w"), 2, "w")

    state = opened(state, 1, "w")

    assert state.counted == {"w": 1}


def opened(state: LineageState, number: int, *workers: str) -> LineageState:
    base = VersionRef(number, STOCK_DIGEST, 10)
    return fleet.restored(state, stock=STOCK, base=base, taken=number, workers=workers, now=0.0)


def test_a_delta_before_there_is_a_version_is_stale() -> None:
    reply = fleet.offer(LineageState(LINEAGE), header())

    assert reply is not None
    assert reply.outcome is Outcome.STALE


def test_a_delta_that_comes_while_its_round_closes_is_stale() -> None:
    state, _ = fleet.accept(lineage_at(), header("a"))

    reply = fleet.offer(fleet.closing(state), header("b"))

    assert reply is not None
    assert reply.outcome is Outcome.STALE


def test_deltas_still_count_after_the_store_has_failed() -> None:
    state, _ = fleet.accept(lineage_at(), header("a"))

    state = fleet.reopened(fleet.closing(state), "disk is full")

    assert fleet.may_close(state, policy(), now=1.0) is not None
    assert showing.show(state, policy(), now=1.0).store_error == "disk is full"
    assert fleet.accept(state, header("b"))[1].outcome is Outcome.ACCEPTED


def test_a_round_cannot_close_before_workers_had_time_to_return_after_a_restart() -> None:
    rules = policy(minimum=1)
    state = fleet.restored(
        LineageState(LINEAGE), stock=STOCK, base=STOCK, taken=0, now=10.0, settle_seconds=5.0
    )
    state, _ = fleet.heartbeat(state, beat("a"), rules, now=11.0)
    state, _ = fleet.accept(state, header("a"))

    early = fleet.may_close(state, rules, now=14.9)
    alone = fleet.may_close(state, rules, now=15.0)
    for worker in "bcde":
        state, _ = fleet.heartbeat(state, beat(worker), rules, now=14.0)
    among_five = fleet.may_close(state, rules, now=15.0)

    assert early is None
    assert alone == "1 deltas reached the quorum of 1"
    assert among_five is None
    assert "more may return" in showing.show(state, rules, now=14.0).reason
    assert showing.show(state, rules, now=15.0).reason == "1 of 3 deltas, 5 live workers train"


def test_a_refused_delta_is_noted_against_its_worker_only() -> None:
    state, _ = fleet.heartbeat(lineage_at(), beat("a"), policy(), now=0.0)
    state, _ = fleet.heartbeat(state, beat("b"), policy(), now=0.0)

    state, reply = fleet.refuse(state, header("a"), "norm is 1e9")

    shown = showing.show(state, policy(), now=1.0)
    assert reply.outcome is Outcome.REFUSED
    assert [(one.worker_id, one.refused_deltas, one.refusal) for one in shown.workers] == [
        ("a", 1, "norm is 1e9"),
        ("b", 0, ""),
    ]


class Fleet(RuleBasedStateMachine):
    """Workers come, push, repeat themselves and die; the store fails now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.state = lineage_at()
        self.now = 0.0
        self.published = [0]
        self.accepted: set[tuple[str, int]] = set()

    @rule(worker=sampled_from("abc"), seconds=integers(0, 7))
    def report(self, worker: str, seconds: int) -> None:
        self.now += seconds
        self.state, reply = fleet.heartbeat(self.state, beat(worker), policy(), now=self.now)
        assert self.state.round is not None
        assert reply.delta_counted == (worker in self.state.round.deltas)

    @rule(worker=sampled_from("abc"), behind=integers(-1, 2))
    def push(self, worker: str, behind: int) -> None:
        assert self.state.round is not None
        number = max(0, self.state.round.number - behind)
        self.state, reply = fleet.accept(self.state, header(worker, round_=number, base=number))
        if reply.outcome is Outcome.ACCEPTED:
            assert (worker, number) not in self.accepted
            self.accepted.add((worker, number))

    @precondition(lambda self: fleet.may_close(self.state, policy(), now=self.now) is not None)
    @rule(store_works=sampled_from([True, False]))
    def close(self, store_works: bool) -> None:
        closing = fleet.closing(self.state)
        assert closing.round is not None
        if not store_works:
            self.state = fleet.reopened(closing, "down")
            return
        number = closing.round.number + 1
        self.published.append(number)
        base = VersionRef(number, STOCK_DIGEST, 10)
        self.state = fleet.restored(closing, stock=STOCK, base=base, taken=number, now=self.now)

    @invariant()
    def numbers_have_no_gaps(self) -> None:
        assert self.published == list(range(len(self.published)))

    @invariant()
    def what_watchers_see_agrees_with_the_round(self) -> None:
        shown = showing.show(self.state, policy(), now=self.now)
        assert shown.deltas == len({w for w, number in self.accepted if number == shown.round})


Fleet.TestCase.settings = settings(max_examples=50, stateful_step_count=30, deadline=None)
TestFleet = Fleet.TestCase
