from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from specfleet_agent.blocks import Watched, watch
from specfleet_agent.engine_page import EnginePage
from specfleet_agent.situation import Written
from specfleet_agent.switchback import Running
from specfleet_agent.tests.builders import digest, drafter_content, page, version
from specfleet_agent.tests.promoting import in_force
from specfleet_common.judge.records import Block
from specfleet_common.lineage import EARLIER

Bands = Mapping[int, tuple[int, int, float]]
"""Verify steps, tokens and busy seconds by band."""


def own(block: int) -> str:
    """Return the digest that the engine runs in a block."""
    return in_force().version(block).digest


def other(block: int) -> str:
    return next(digest(number) for number in (2, 3) if digest(number) != own(block))


def shows(
    at: float,
    observed: str,
    counted: Mapping[str, Bands],
    *,
    swaps: int = 3,
    incarnation: str = "0123456789abcdef",
) -> tuple[EnginePage, Written]:
    """Return a page that was written at a time, give or take a tenth of a second."""
    drafters = tuple(drafter_content(name, bands=bands) for name, bands in counted.items())
    content = page(
        observed=observed,
        drafters=drafters,
        swaps=swaps,
        incarnation=incarnation,
        beats=int(10 * at),
    )
    return content, Written(after=at - 0.1, by=at + 0.1)


def told_by(
    *pages: tuple[EnginePage, Written], running: Running | None = None
) -> tuple[Block, ...]:
    """Return the records that a row of looks yields."""
    watched: Watched | None = None
    found: list[Block] = []
    for content, written in pages:
        watched, records = watch(watched, running or in_force(), content, written)
        found += records
    return tuple(found)


def test_a_block_is_what_counters_grew_by_from_its_washout_to_its_end() -> None:
    mine = own(1)

    records = told_by(
        shows(9.5, mine, {mine: {1: (10, 15, 1.0)}}),
        shows(11.0, mine, {mine: {1: (20, 30, 2.0)}}, swaps=4),
        shows(12.5, mine, {mine: {1: (30, 45, 3.0)}}, swaps=4),
        shows(15.0, mine, {mine: {1: (40, 70, 4.5), 2: (8, 9, 0.5)}}, swaps=4),
        shows(19.5, mine, {mine: {1: (50, 90, 5.5), 2: (8, 9, 0.5)}}, swaps=4),
        shows(20.5, mine, {mine: {1: (60, 99, 6.5), 2: (8, 9, 0.5)}}, swaps=5),
    )

    assert records == (
        Block("worker-1", 1, 1, mine, swaps=1, busy_seconds=2.5, tokens=45, verify_steps=20),
        Block("worker-1", 1, 2, mine, swaps=1, busy_seconds=0.5, tokens=9, verify_steps=8),
    )


def test_pages_that_may_be_of_the_washout_or_of_the_next_block_are_left_out() -> None:
    mine = own(1)

    records = told_by(
        shows(11.0, mine, {mine: {1: (0, 0, 0.0)}}),
        shows(12.05, mine, {mine: {1: (1, 1, 1.0)}}),
        shows(13.0, mine, {mine: {1: (2, 2, 2.0)}}),
        shows(19.0, mine, {mine: {1: (3, 3, 3.0)}}),
        shows(19.95, mine, {mine: {1: (9, 9, 9.0)}}),
    )

    assert [(one.verify_steps, one.busy_seconds) for one in records] == [(1, 1.0)]


def test_a_block_counts_from_when_its_own_drafter_is_seen() -> None:
    mine, before = own(1), other(1)

    records = told_by(
        shows(11.0, before, {before: {1: (5, 5, 5.0)}}),
        shows(13.0, before, {before: {1: (9, 9, 9.0)}}),
        shows(15.0, mine, {before: {1: (9, 9, 9.0)}, mine: {1: (1, 1, 0.1)}}),
        shows(19.0, mine, {before: {1: (9, 9, 9.0)}, mine: {1: (4, 6, 1.1)}}),
        shows(21.0, mine, {before: {1: (9, 9, 9.0)}, mine: {1: (9, 9, 9.0)}}),
    )

    assert [(one.digest, one.verify_steps, one.tokens) for one in records] == [(mine, 3, 5)]


def test_an_engine_that_never_runs_its_arm_leaves_no_record() -> None:
    before = other(1)

    records = told_by(
        *(shows(at, before, {before: {1: (n, n, n)}}) for n, at in enumerate((11.0, 15.0, 21.0)))
    )

    assert records == ()


def test_stock_is_recorded_by_its_digest() -> None:
    running = in_force(base=0)
    block = next(n for n in range(2) if running.version(n) == version(0))

    records = told_by(
        *(
            shows(10.0 * block + at, "stock", {"stock": {1: (n, n, n)}})
            for n, at in enumerate((1.0, 3.0, 9.0, 11.0))
        ),
        running=running,
    )

    assert [(one.digest, one.busy_seconds) for one in records] == [(digest(0), 1.0)]


def test_another_drafter_at_work_leaves_a_record_of_its_own() -> None:
    mine, foreign = own(1), other(1)

    records = told_by(
        shows(11.0, mine, {mine: {1: (0, 0, 0.0)}}),
        shows(13.0, mine, {mine: {1: (1, 1, 1.0)}}),
        shows(19.0, mine, {mine: {1: (3, 3, 3.0)}, foreign: {2: (4, 4, 0.5)}}),
        shows(21.0, mine, {mine: {1: (9, 9, 9.0)}}),
    )

    assert {(one.digest, one.band) for one in records} == {(mine, 1), (foreign, 2)}


@pytest.mark.parametrize("observed", [other(1), "mismatch", "local"])
def test_another_drafter_that_was_only_seen_leaves_an_empty_record(observed: str) -> None:
    mine = own(1)

    records = told_by(
        shows(11.0, mine, {mine: {1: (0, 0, 0.0)}}),
        shows(13.0, mine, {mine: {1: (1, 1, 1.0)}}),
        shows(15.0, observed, {mine: {1: (2, 2, 2.0)}}),
        shows(19.0, mine, {mine: {1: (3, 3, 3.0)}}),
        shows(21.0, mine, {mine: {1: (9, 9, 9.0)}}),
    )

    assert Block("worker-1", 1, 0, observed, 0, 0.0, 0, 0) in records
    assert len(records) == 2


def test_drafters_that_the_engine_adds_up_are_no_work_of_the_block() -> None:
    mine, old = own(1), "e" * 64

    records = told_by(
        shows(11.0, mine, {old: {1: (50, 50, 5.0)}, mine: {1: (0, 0, 0.0)}}),
        shows(13.0, mine, {old: {1: (50, 50, 5.0)}, mine: {1: (1, 1, 1.0)}}),
        shows(19.0, mine, {EARLIER: {1: (50, 50, 5.0)}, mine: {1: (3, 3, 3.0)}}),
        shows(21.0, mine, {mine: {1: (9, 9, 9.0)}}),
    )

    assert [one.digest for one in records] == [mine]


SOUND = (
    shows(11.0, own(1), {own(1): {1: (0, 0, 0.0)}}),
    shows(13.0, own(1), {own(1): {1: (1, 1, 1.0)}}),
    shows(19.0, own(1), {own(1): {1: (3, 3, 3.0)}}),
    shows(21.0, own(1), {own(1): {1: (9, 9, 9.0)}}),
)


def test_an_engine_that_starts_anew_leaves_no_record() -> None:
    anew = shows(19.0, own(1), {own(1): {1: (3, 3, 3.0)}}, incarnation="f" * 16)

    assert len(told_by(*SOUND)) == 1
    assert told_by(SOUND[0], SOUND[1], anew, SOUND[3]) == ()


def test_counters_that_go_backwards_leave_no_record() -> None:
    less = shows(19.0, own(1), {own(1): {1: (3, 0, 3.0)}})

    assert told_by(SOUND[0], SOUND[1], less, SOUND[3]) == ()


def test_an_agent_that_comes_late_leaves_no_record() -> None:
    assert told_by(SOUND[1], SOUND[2], SOUND[3]) == ()


def test_a_lease_lost_in_the_middle_leaves_no_record() -> None:
    watched, _ = watch(None, in_force(), *SOUND[0])
    watched, _ = watch(watched, in_force(), *SOUND[1])
    watched, _ = watch(watched, None, *SOUND[1])
    watched, _ = watch(watched, in_force(), *SOUND[2])

    _, records = watch(watched, in_force(), *SOUND[3])

    assert records == ()


def test_another_comparison_or_anchor_starts_from_nothing() -> None:
    watched, _ = watch(None, in_force(), *SOUND[0])
    watched, _ = watch(watched, in_force(), *SOUND[1])
    watched, _ = watch(watched, in_force(), *SOUND[2])

    _, records = watch(watched, replace(in_force(), began=-2.0), *SOUND[3])

    assert records == ()


def test_the_same_page_twice_changes_nothing() -> None:
    twice = [one for shown in SOUND for one in (shown, shown)]

    assert told_by(*twice) == told_by(*SOUND)


def test_before_its_beginning_nothing_belongs_to_a_comparison() -> None:
    assert watch(None, in_force(began=100.0), *SOUND[0]) == (None, ())


def test_an_engine_that_counts_no_bands_is_not_judged() -> None:
    old = page(drafters=(drafter_content(own(1)),))

    assert watch(None, in_force(), old, Written(10.9, 11.1)) == (None, ())


def test_an_idle_block_leaves_no_record() -> None:
    idle = [shows(at, own(1), {own(1): {1: (5, 5, 5.0)}}) for at in (11.0, 13.0, 19.0, 21.0)]

    assert told_by(*idle) == ()
