"""Which engines compare, and which run the candidate, and when."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from specfleet_aggregator.promotion.assigning import (
    Roster,
    Traffic,
    chosen,
    is_rolled_out,
)
from specfleet_aggregator.promotion.telling import Told
from specfleet_aggregator.promotion.tests.fleets import CANDIDATE, STABLE, fleet
from specfleet_aggregator.promotion.tests.worlds import in_phase


def test_canaries_are_as_many_as_wanted_and_kept_when_others_come() -> None:
    found = fleet("a", "b", "c", canary_engines=2)
    found.assign()
    first = found.comparing()
    found.join("d", "e", "f", "g")

    found.assign()

    assert len(first) == 2
    assert found.comparing() == first
    assert found.serving() == set()


def test_a_canary_that_goes_is_replaced() -> None:
    found = fleet("a", "b", "c")
    found.assign()
    (gone,) = found.comparing()
    del found.observed[gone]

    found.assign()

    assert len(found.comparing()) == 1
    assert found.comparing() != {gone}


def test_after_a_restart_those_that_have_compared_go_on_before_others_are_chosen() -> None:
    found = fleet("a", "b", "c")

    found.assign(may_choose=False, known=frozenset({"b", "gone"}))

    assert found.comparing() == {"b"}


def test_engines_change_one_after_the_other_and_the_canary_last() -> None:
    found = fleet("a", "b", "c", phase="Rolling")
    order: list[str] = []
    found.assign()
    (canary,) = found.comparing()
    while not is_rolled_out(found.roster, found.engines):
        order += sorted(found.serving() - set(order))
        found.obey()
        found.now += 10.0
        found.assign()

    assert sorted(order) == ["a", "b", "c"]
    assert order[-1] == canary


def test_the_next_engine_waits_until_the_last_was_seen_to_run_the_candidate_and_a_pause() -> None:
    found = fleet("a", "b", "c", phase="Rolling")
    found.assign()
    found.now += 1000.0
    found.assign()
    unseen = found.serving()
    found.obey(*unseen)
    found.assign()
    pausing = found.serving()
    found.now += 9.9
    found.assign()
    still = found.serving()
    found.now += 0.1

    found.assign()

    assert len(unseen) == 1
    assert unseen == pausing == still
    assert len(found.serving()) == 2


def test_an_engine_that_runs_something_else_is_not_counted() -> None:
    found = fleet("a", "b", phase="Rolling", engines_at_once=2, pause_seconds=0.0)
    for _ in range(5):
        found.assign()
        found.obey()
        found.observed["a"] = "mismatch"

    assert not is_rolled_out(found.roster, found.engines)


def test_an_engine_that_falls_back_stops_the_rollout() -> None:
    found = fleet("a", "b", phase="Rolling", pause_seconds=0.0)
    for _ in range(5):
        found.assign()
        found.obey()
    found.assign()
    before = is_rolled_out(found.roster, found.engines)
    found.observed["a"] = STABLE.digest

    found.assign()

    assert before
    assert not is_rolled_out(found.roster, found.engines)


def test_without_engines_nothing_is_rolled_out() -> None:
    assert not is_rolled_out(Roster(), {})


def test_the_end_of_a_promotion_takes_all_back() -> None:
    found = fleet("a", "b", "c", phase="Rolling", engines_at_once=3, pause_seconds=0.0)
    for _ in range(3):
        found.assign()
        found.obey()
    found.running = None

    found.assign()

    assert found.serving() == found.comparing() == set()


def test_nobody_new_changes_until_all_who_outlived_a_restart_had_time_to_report() -> None:
    found = fleet("a", "b", "c", phase="Rolling")
    found.observed["b"] = CANDIDATE.digest
    found.assign(may_choose=False)
    early = found.serving()
    found.now += 10.0

    found.assign(may_choose=False)

    assert early == found.serving() == {"b"}


workers = st.sets(st.text("abcdef", min_size=1, max_size=3), max_size=8)


@given(workers, workers, workers, workers, st.integers(0, 4))
def test_choosing_again_changes_nothing(
    kept: set[str], among: set[str], busy: set[str], idle: set[str], number: int
) -> None:
    traffic = Traffic(frozenset(busy - idle), frozenset(idle))

    first = chosen("seed", number, kept=kept, among=among, traffic=traffic)

    assert chosen("seed", number, kept=first, among=among, traffic=traffic) == first
    assert first <= among
    assert len(first) >= min(number, len(among))
    assert first >= (kept & among) - idle
    assert len(first - idle) >= min(number, len(among & traffic.busy))


def test_a_canary_without_traffic_gives_way_to_an_engine_that_has_some() -> None:
    found = fleet("a", "b", "c")
    found.idle = {"a", "b", "c"}
    found.assign()
    quiet = found.comparing()
    found.idle = quiet
    found.assign()
    busy = found.comparing()
    found.idle = {"a", "b", "c"}

    found.assign()

    assert len(quiet) == len(busy) == 1
    assert busy != quiet
    assert found.comparing() == busy


def test_a_canary_stays_through_a_pause_of_its_traffic() -> None:
    found = fleet("a", "b", "c")
    found.assign()
    before = found.comparing()
    found.quiet = set(before)

    found.assign()

    assert found.comparing() == before


steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["join", "leave", "obey", "fall back"]), st.integers(0, 7)),
        st.tuples(st.sampled_from(["wait", "restart", "roll"]), st.just(0)),
    ),
    max_size=60,
)


@given(steps, st.integers(1, 3), st.integers(1, 2))
def test_no_engine_runs_the_candidate_before_its_turn(
    story: list[tuple[str, int]], at_once: int, canaries: int
) -> None:
    found = fleet("e0", "e1", engines_at_once=at_once, canary_engines=canaries)
    joined: set[str] = set()
    told_once: set[str] = set()
    for what, which in story:
        name = f"e{which}"
        match what:
            case "join" if name not in found.observed:
                found.join(name)
                joined = {name}
            case "leave":
                found.observed.pop(name, None)
            case "obey" if name in found.observed:
                found.obey(name)
            case "fall back" if name in found.observed:
                found.observed[name] = STABLE.digest
            case "wait":
                found.now += 11.0
            case "restart":
                found.roster = Roster()
            case "roll":
                found.running = in_phase("Rolling")
        for late in joined:
            assert found.told(late) == Told() or late not in found.observed
        found.assign()
        joined = set()

        serving, comparing = found.serving(), found.comparing()
        unseen = {name for name in serving if found.observed[name] != CANDIDATE.digest}
        assert not serving & comparing
        assert not serving or (found.running is not None and found.running.phase == "Rolling")
        assert len(comparing) <= canaries
        assert unseen <= found.roster.waiting
        assert len(unseen) <= at_once + len(told_once & unseen)
        told_once |= serving


@given(st.integers(1, 9), st.integers(1, 3), st.integers(1, 3))
def test_engines_that_obey_all_run_the_candidate_in_the_end(
    engines: int, at_once: int, canaries: int
) -> None:
    names = [f"e{number}" for number in range(engines)]
    found = fleet(*names, phase="Rolling", engines_at_once=at_once, canary_engines=canaries)
    rounds = 0
    while not is_rolled_out(found.roster, found.engines):
        before = found.serving()
        found.assign()
        new = found.serving() - before
        assert len(new) <= at_once
        found.obey()
        found.now += 10.0
        rounds += 1
        assert rounds <= 3 * engines + 3

    assert found.serving() == set(names)
