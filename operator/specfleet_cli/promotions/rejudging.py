"""Recomputes the verdicts of a promotion from its records, and compares them byte for byte."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from specfleet_cli.promotions.listing import Listed, Recorded, Step
from specfleet_cli.promotions.verdicts import stored_verdicts
from specfleet_common.judge.records import united
from specfleet_common.judge.rejudging import canonical, rejudge
from specfleet_common.store import evidence
from specfleet_common.store.base import Store
from specfleet_common.store.evidence import StoredVerdict


@dataclass(frozen=True, slots=True)
class Comparison:
    """A verdict as it was stored, and as it comes out now."""

    phase: str
    records: int
    evidence: str
    stored: str
    """Its sentence."""
    recomputed: str
    differences: tuple[str, ...]
    """What is not the same; empty when nothing differs."""


@dataclass(frozen=True, slots=True)
class Rejudged:
    """All verdicts of a promotion, judged again."""

    name: str
    comparisons: tuple[Comparison, ...]
    without_verdict: tuple[Step, ...]
    """Decisions that rest on evidence of which the store has no verdict."""

    @property
    def is_the_same(self) -> bool:
        """Say whether every decision rests on a verdict that comes out the same."""
        return not self.without_verdict and not any(one.differences for one in self.comparisons)

    def lines(self) -> Iterator[str]:
        """Say what came of it."""
        for one in self.comparisons:
            same = f"differs in {', '.join(one.differences)}" if one.differences else "the same"
            yield f"{one.phase}: {one.records} records, {same}"
            yield f"  stored      {one.stored}"
            yield f"  recomputed  {one.recomputed}"
        for step in self.without_verdict:
            yield f"{step.what}: the store has no verdict on its evidence, {step.evidence}"
        if not self.comparisons and not self.without_verdict:
            yield f"{self.name}: no decision rests on evidence, so there is nothing to compare"


def rejudge_all(store: Store, promotion: Listed) -> Rejudged:
    """Judge again all that was concluded about a promotion of the store's ledger."""
    recorded = promotion.recorded
    assert recorded is not None
    comparisons = tuple(
        compare(store, promotion.lineage, recorded, verdict)
        for verdict in stored_verdicts(store, promotion.lineage, promotion.state.id)
    )
    return Rejudged(promotion.name, comparisons, without_verdict(recorded.steps, comparisons))


def compare(
    store: Store, lineage_id: str, recorded: Recorded, verdict: StoredVerdict
) -> Comparison:
    """Judge the entries that a verdict names, no others, by the rules that the ledger has."""
    batches = evidence.read_batches(store, lineage_id, verdict.set, verdict.entries)
    records = united(batch.records for batch in batches)
    opened, stock_digest = recorded.opened, recorded.stock_digest
    judgement = rejudge(opened, records, phase=verdict.phase, stock_digest=stock_digest)
    found = {
        "rules": (verdict.opened, opened),
        "stock": (verdict.stock_digest, stock_digest),
        "records": (verdict.records, len(records)),
        "evidence": (verdict.evidence, evidence.digest(records)),
        "judgement": (verdict.judgement_bytes, canonical(judgement)),
    }
    return Comparison(
        phase=verdict.phase,
        records=len(records),
        evidence=verdict.evidence,
        stored=verdict.judgement["verdict"]["sentence"],
        recomputed=judgement.verdict.sentence,
        differences=tuple(what for what, (then, now) in found.items() if then != now),
    )


def without_verdict(steps: Iterable[Step], comparisons: Iterable[Comparison]) -> tuple[Step, ...]:
    """Return the decisions that rest on evidence of which there is no verdict."""
    known = {one.evidence for one in comparisons}
    return tuple(step for step in steps if step.evidence and step.evidence not in known)
