"""Promotions as the commands show them, and how they follow from a lineage's ledger. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from specfleet_common.api.promotion import Decision, Outcome, Phase
from specfleet_common.judge.rejudging import AFTER
from specfleet_common.store.entries import (
    Entry,
    PromotionAdvanced,
    PromotionEnded,
    PromotionOpened,
    StableWithdrawn,
    VersionPublished,
)
from specfleet_common.wire.messages import EffectState, PromotionState


@dataclass(frozen=True, slots=True)
class Step:
    """One decision of the ledger, at a time of the wall clock."""

    at: float
    phase: str
    """In which it was made."""
    what: str
    sentence: str
    evidence: str = ""
    """Digest of the records that it rests on; empty where it needs none."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What the ledger says about one promotion; steps are oldest first."""

    opened: PromotionOpened
    stock_digest: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """One promotion; `name` is what the commands call it, here or in a cluster."""

    name: str
    fleet: str
    """Empty where only the store is known."""
    lineage: str
    state: PromotionState
    decision: Decision | None = None
    """What a user has decided."""
    recorded: Recorded | None = None
    """None in a cluster, as long as only its objects are read."""

    @property
    def has_ended(self) -> bool:
        """Say whether nothing can be decided any more."""
        return self.state.phase == Phase.DONE

    @property
    def effect(self) -> EffectState | None:
        """Return the effect that the promotion is about."""
        return self.state.effects[0] if self.state.effects else None


def listed(
    entries: Iterable[Entry],
    lineage_id: str,
    *,
    fleet: str = "",
    decisions: Mapping[str, Decision] | None = None,
) -> tuple[Listed, ...]:
    """Return the promotions of a ledger, the newest first."""
    known: dict[str, Listed] = {}
    stock_digest = ""
    for entry in entries:
        if isinstance(entry, VersionPublished) and entry.number == 0:
            stock_digest = entry.digest
        elif isinstance(entry, PromotionOpened):
            state, recorded = _opened(entry, stock_digest)
            decision = (decisions or {}).get(entry.promotion)
            known[entry.promotion] = Listed(
                entry.promotion, fleet, lineage_id, state, decision, recorded
            )
        elif isinstance(entry, PromotionAdvanced | PromotionEnded | StableWithdrawn):
            known[entry.promotion] = _after(known[entry.promotion], entry)
    return tuple(reversed(known.values()))


def with_live_states(
    promotions: Iterable[Listed], states: Iterable[PromotionState]
) -> tuple[Listed, ...]:
    """Return the promotions, the open ones as a running aggregator tells them."""
    told = {state.id: state for state in states}
    return tuple(
        one if one.has_ended or one.state.id not in told else replace(one, state=told[one.state.id])
        for one in promotions
    )


def _opened(entry: PromotionOpened, stock_digest: str) -> tuple[PromotionState, Recorded]:
    stable = f"version {entry.stable_number}" if entry.stable_number else "stock"
    sentence = f"Version {entry.number} is a candidate, to be compared with {stable}."
    state = PromotionState(
        id=entry.promotion,
        number=entry.number,
        digest=entry.digest,
        phase=Phase.PENDING,
        outcome="",
        sentence=sentence,
        started_at=entry.at,
    )
    steps = (Step(entry.at, Phase.PENDING, "Opened", sentence),)
    return state, Recorded(entry, stock_digest, steps)


def _after(before: Listed, entry: PromotionAdvanced | PromotionEnded | StableWithdrawn) -> Listed:
    assert before.recorded is not None
    state = replace(
        before.state,
        sentence=entry.sentence,
        evidence_digest=entry.evidence or before.state.evidence_digest,
    )
    if isinstance(entry, PromotionAdvanced):
        phase, has_passed = (
            before.state.phase,
            (before.state.phase, entry.phase) == ("Canary", "Canary"),
        )
        what = "Passed" if has_passed else f"Enters {entry.phase}"
        state = replace(state, phase=entry.phase, waits_for_approval=has_passed)
    elif isinstance(entry, PromotionEnded):
        phase, what = entry.phase, str(entry.outcome)
        state = replace(
            state,
            phase=Phase.DONE,
            outcome=entry.outcome,
            finished_at=entry.at,
            waits_for_approval=False,
        )
    else:
        phase, what = AFTER, str(Outcome.ROLLED_BACK)
        state = replace(state, outcome=Outcome.ROLLED_BACK, finished_at=entry.at)
    step = Step(entry.at, phase, what, entry.sentence, entry.evidence)
    recorded = replace(before.recorded, steps=(*before.recorded.steps, step))
    return replace(before, state=state, recorded=recorded)
