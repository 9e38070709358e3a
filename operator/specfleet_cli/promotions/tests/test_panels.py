"""Which pictures a promotion has, and where in them its decisions are."""

from __future__ import annotations

from pathlib import Path

import pytest

from specfleet_cli.evidence_plot import GuardPanel, Panel
from specfleet_cli.promotions.cases import Case, in_order, read_case
from specfleet_cli.promotions.listing import listed
from specfleet_cli.promotions.panels import panels
from specfleet_cli.promotions.plotting import evidence
from specfleet_cli.promotions.tests.lineages import (
    LINEAGE,
    FakeLineage,
    promoted,
    rejected,
    too_slow,
    walks,
    withdrawn,
)
from specfleet_common.judge.records import Block
from specfleet_common.store.directory import DirectoryStore
from specfleet_common.store.ledger import Ledger


def case(lineage: FakeLineage) -> Case:
    store = lineage.store
    return read_case(store, listed(Ledger(store, LINEAGE).entries(), LINEAGE)[0])


@pytest.fixture
def lineage(tmp_path: Path) -> FakeLineage:
    return FakeLineage(DirectoryStore(tmp_path))


def test_every_phase_with_records_has_a_panel(lineage: FakeLineage) -> None:
    withdrawn(lineage)

    found = panels(case(lineage))

    assert [panel.title for panel in found] == [
        "Replay: candidate over stable",
        "Canary: candidate over stable",
        "Guards",
        "After: stable over stock",
    ]


def test_without_records_there_is_no_panel(lineage: FakeLineage) -> None:
    lineage.opens()

    assert panels(case(lineage)) == ()


def test_decisions_are_where_the_records_end_that_they_rest_on(lineage: FakeLineage) -> None:
    promoted(lineage)

    replay, canary, guards, *_ = panels(case(lineage))

    assert [(mark.num_records, mark.text) for mark in replay.marks] == [
        (20, "Enters Replay"),
        (120, "Enters Canary"),
    ]
    assert [(mark.num_records, mark.text) for mark in canary.marks] == [
        (60, "Enters Rolling"),
        (60, "Promoted"),
    ]
    assert [mark.num_records for mark in guards.marks] == [400, 400]


def test_the_panel_ends_with_what_the_verdict_says(lineage: FakeLineage) -> None:
    rejected(lineage)
    read = case(lineage)

    (replay,) = panels(read)

    assert isinstance(replay, Panel)
    effect = read.verdicts[-1].judgement["verdict"]["effects"][0]
    assert replay.points[-1].gain == pytest.approx(effect["gain"])
    assert replay.points[-1].upper == pytest.approx(effect["upper"])
    assert [mark.is_bad for mark in replay.marks] == [False, True]


def test_a_guard_that_does_not_hold_is_above_what_is_allowed(lineage: FakeLineage) -> None:
    too_slow(lineage)

    *_, guards = panels(case(lineage))

    assert isinstance(guards, GuardPanel)
    ends = {guard.name: guard.points[-1] for guard in guards.guards}
    assert {count for count, _ in ends.values()} == {160}
    assert ends["time per output token"][1] == pytest.approx(20.0)
    assert ends["time to first token"][1] == pytest.approx(0.0)


def test_only_blocks_that_count_are_counted(lineage: FakeLineage) -> None:
    withdrawn(lineage)

    *_, after = panels(case(lineage))

    assert isinstance(after, Panel)
    assert after.points[-1].num_records == 40  # of 800: one pair in twenty compares


def test_records_keep_the_place_of_their_first_arrival() -> None:
    first, second = walks(2, gain=0.1)
    partial = Block("a", 1, 1, "x", 1, 1.0, 10, 5)
    whole = Block("a", 1, 1, "x", 1, 2.0, 20, 10)

    assert in_order([[second], [first, second]]) == (second, first)
    assert in_order([[whole], [partial]]) == in_order([[partial], [whole]]) == (whole,)


def test_a_report_gets_the_same_picture_whenever_it_asks(lineage: FakeLineage) -> None:
    opened = rejected(lineage)

    found = evidence(lineage.store, opened.promotion)

    assert found
    assert found == evidence(lineage.store, opened.promotion)
