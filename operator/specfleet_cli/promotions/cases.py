"""Promotions as their store has them, and the evidence of one in the order in which it came."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from specfleet_cli.promotions.listing import Listed, Recorded, listed
from specfleet_cli.promotions.verdicts import stored_verdicts, with_effects
from specfleet_common.api.promotion import Decision
from specfleet_common.judge.records import AnyRecord
from specfleet_common.store import evidence
from specfleet_common.store.base import Store
from specfleet_common.store.evidence import Batch, StoredVerdict
from specfleet_common.store.ledger import Ledger
from specfleet_common.store.versions import lineages


@dataclass(frozen=True, slots=True)
class Case:
    """All that a promotion was decided on."""

    promotion: Listed
    recorded: Recorded
    batches: tuple[Batch, ...]
    """Oldest first."""
    batches_after: tuple[Batch, ...]
    """Of the comparison with stock after the promotion."""
    verdicts: tuple[StoredVerdict, ...]


def promotions_of(
    store: Store, *, fleet: str = "", decisions: Mapping[str, Decision] | None = None
) -> tuple[Listed, ...]:
    """Return the promotions of all lineages of a store, the newest first."""
    found = [
        with_effects(one, store)
        for lineage in lineages(store)
        for one in listed(
            Ledger(store, lineage).entries(), lineage, fleet=fleet, decisions=decisions
        )
    ]
    return tuple(sorted(found, key=lambda one: -one.state.started_at))


def read_case(store: Store, promotion: Listed) -> Case:
    """Return what a store has about a promotion of its ledger."""
    assert promotion.recorded is not None
    lineage, name = promotion.lineage, promotion.state.id
    return Case(
        promotion=promotion,
        recorded=promotion.recorded,
        batches=evidence.batches(store, lineage, name),
        batches_after=evidence.batches(store, lineage, evidence.after(name)),
        verdicts=stored_verdicts(store, lineage, name),
    )


def in_order(reports: Iterable[Iterable[AnyRecord]]) -> tuple[AnyRecord, ...]:
    """Return every record once, in order of its first arrival, as complete as it ever came."""
    known: dict[tuple[str | int, ...], AnyRecord] = {}
    for report in reports:
        for record in report:
            known[record.key] = max(known.get(record.key, record), record)
    return tuple(known.values())


def stored_at(batch: Batch) -> float:
    """Return when a batch was stored, in seconds of the wall clock, as its name says."""
    return int(batch.name.partition("-")[0]) / 1000
