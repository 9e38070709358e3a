"""What the records of a set say so far, and how that is shown and kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specfleet_aggregator.promotion.history import Promotion
from specfleet_common.api.promotion import Phase
from specfleet_common.judge.records import Records, united
from specfleet_common.judge.rejudging import AFTER, REPLAY, Judgement, live_comparison, rejudge
from specfleet_common.store.evidence import Batch, StoredVerdict, after, stored_verdict


@dataclass(frozen=True, slots=True)
class Case:
    """A set of records, what it is about, and the phase that says how it is judged."""

    set: str
    promotion: Promotion
    phase: str
    stock_digest: str

    def keep(self, records: Records) -> Records:
        """Return those records that can count.

        After a promotion, stable is compared in few blocks, and guards are not asked.
        """
        if self.phase != AFTER:
            return records
        plan = live_comparison(
            self.promotion.opened, phase=AFTER, stock_digest=self.stock_digest
        ).plan
        return Records(
            blocks=tuple(
                block for block in records.blocks if plan.compares(block.engine, block.block)
            )
        )


def open_case(promotion: Promotion, *, stock_digest: str) -> Case:
    """Return the case of a candidate; what comes while it is pending is judged as in replay."""
    phase = promotion.last_phase
    judged_as = REPLAY if phase is Phase.PENDING else phase.value
    return Case(promotion.id, promotion, judged_as, stock_digest)


def after_case(promotion: Promotion, *, stock_digest: str) -> Case:
    """Return the case of a version that has become stable."""
    return Case(after(promotion.id), promotion, AFTER, stock_digest)


@dataclass(frozen=True, slots=True)
class Look:
    """A judgement with what it rests on."""

    case: Case
    judgement: Judgement
    records: Records
    entries: tuple[str, ...]
    engines: frozenset[str]
    """Those that have compared."""

    def stored(self) -> StoredVerdict:
        """Return what is to be stored of it."""
        return stored_verdict(
            self.case.promotion.opened,
            self.judgement,
            self.records,
            self.entries,
            set_=self.case.set,
            phase=self.case.phase,
            stock_digest=self.case.stock_digest,
        )


def look(case: Case, batches: Sequence[Batch]) -> Look | None:
    """Judge a case by all that has come; None while nothing has."""
    records = united(batch.records for batch in batches)
    if not len(records):
        return None
    judgement = rejudge(
        case.promotion.opened, records, phase=case.phase, stock_digest=case.stock_digest
    )
    entries = tuple(batch.name for batch in batches)
    engines = frozenset(block.engine for block in records.blocks)
    return Look(case, judgement, records, entries, engines)
