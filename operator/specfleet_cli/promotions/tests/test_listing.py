"""What a ledger says about promotions."""

from __future__ import annotations

from pathlib import Path

from specfleet_cli.promotions.listing import Listed, listed, with_live_states
from specfleet_cli.promotions.tests.lineages import (
    LINEAGE,
    STOCK,
    FakeLineage,
    promoted,
    rejected,
    waiting,
    withdrawn,
)
from specfleet_common.api.promotion import Decision
from specfleet_common.store.directory import DirectoryStore
from specfleet_common.store.ledger import Ledger
from specfleet_common.wire.messages import PromotionState


def of(lineage: FakeLineage, **known: object) -> tuple[Listed, ...]:
    return listed(Ledger(lineage.store, LINEAGE).entries(), LINEAGE, **known)  # type: ignore[arg-type]


def test_a_version_that_was_opened_is_pending(tmp_path: Path) -> None:
    lineage = FakeLineage(DirectoryStore(tmp_path))
    opened = lineage.opens(12)

    (one,) = of(lineage)

    assert (one.state.phase, one.state.outcome, one.has_ended) == ("Pending", "", False)
    assert one.state.started_at == opened.at
    assert one.state.sentence == "Version 12 is a candidate, to be compared with stock."


def test_every_decision_is_a_step_in_the_phase_in_which_it_was_made(tmp_path: Path) -> None:
    lineage = FakeLineage(DirectoryStore(tmp_path))
    promoted(lineage)

    (one,) = of(lineage)

    assert one.recorded is not None
    assert [(step.phase, step.what) for step in one.recorded.steps] == [
        ("Pending", "Opened"),
        ("Pending", "Enters Replay"),
        ("Replay", "Enters Canary"),
        ("Canary", "Enters Rolling"),
        ("Rolling", "Promoted"),
    ]
    assert one.recorded.stock_digest == STOCK
    assert (one.state.phase, one.state.outcome) == ("Done", "Promoted")
    assert one.state.finished_at > one.state.started_at


def test_what_was_withdrawn_is_rolled_back(tmp_path: Path) -> None:
    lineage = FakeLineage(DirectoryStore(tmp_path))
    withdrawn(lineage)

    (one,) = of(lineage)

    assert (one.state.phase, one.state.outcome) == ("Done", "RolledBack")
    assert one.state.sentence.startswith("Harmful: stable over stock")


def test_a_canary_that_has_passed_waits_for_approval(tmp_path: Path) -> None:
    lineage = FakeLineage(DirectoryStore(tmp_path))
    opened = waiting(lineage)

    (one,) = of(lineage, decisions={opened.promotion: Decision.APPROVE})

    assert one.state.waits_for_approval
    assert one.decision is Decision.APPROVE


def test_the_newest_come_first(tmp_path: Path) -> None:
    lineage = FakeLineage(DirectoryStore(tmp_path))
    rejected(lineage, 20)
    lineage.opens(30)

    assert [one.state.number for one in of(lineage)] == [30, 20]


def test_only_open_promotions_are_as_the_aggregator_tells_them(tmp_path: Path) -> None:
    lineage = FakeLineage(DirectoryStore(tmp_path))
    ended, opened = rejected(lineage, 20), lineage.opens(30)
    told = [
        PromotionState(entry.promotion, entry.number, entry.digest, "Replay", "", "told", entry.at)
        for entry in (ended, opened)
    ]

    after = with_live_states(of(lineage), told)

    assert [one.state.sentence == "told" for one in after] == [True, False]
