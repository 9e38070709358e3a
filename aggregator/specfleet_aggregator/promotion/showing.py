"""What watchers see of promotions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from specfleet_aggregator.promotion.assigning import Engines
from specfleet_aggregator.promotion.history import History, Promotion
from specfleet_aggregator.promotion.judging import Look
from specfleet_aggregator.promotion.policy import PromotionPolicy
from specfleet_common.judge.guards import Guard
from specfleet_common.store.evidence import StoredVerdict, after
from specfleet_common.wire.messages import EffectState, PromotionState

_GUARD_KEYS = {guard.value: guard.key for guard in Guard}
"""A store that a later version has written may name guards that are not known here."""


def show(
    history: History,
    policy: PromotionPolicy,
    engines: Engines,
    *,
    looks: Mapping[str, Look],
    verdicts: Mapping[str, StoredVerdict | None],
) -> tuple[PromotionState, ...]:
    """Return the newest promotions; `looks` are at open sets, `verdicts` on closed ones."""
    return tuple(
        _shown(one, policy, engines, look=looks.get(one.id), verdict=verdicts.get(_set(one)))
        for one in reversed(_newest(history, policy))
    )


def closed_sets(history: History, policy: PromotionPolicy) -> set[str]:
    """Return the sets whose verdicts are shown."""
    return {_set(one) for one in _newest(history, policy) if one.ended}


def _newest(history: History, policy: PromotionPolicy) -> tuple[Promotion, ...]:
    return history.promotions[-policy.settings.history_limit :]


def _set(promotion: Promotion) -> str:
    """Return the set whose records said last what became of a candidate."""
    return after(promotion.id) if promotion.withdrawn else promotion.id


def _shown(
    promotion: Promotion,
    policy: PromotionPolicy,
    engines: Engines,
    *,
    look: Look | None,
    verdict: StoredVerdict | None,
) -> PromotionState:
    ended = promotion.withdrawn or promotion.ended
    judgement: Mapping[str, Any] = verdict.judgement if verdict else {}
    breaches = _breaches(look) if look else _stored_breaches(judgement)
    return PromotionState(
        id=promotion.id,
        number=promotion.candidate.number,
        digest=promotion.candidate.digest,
        phase=promotion.phase,
        outcome=promotion.outcome or "",
        sentence=ended.sentence if ended else _sentence(promotion, policy, look),
        started_at=promotion.opened.at,
        finished_at=ended.at if ended else 0.0,
        waits_for_approval=_waits(promotion, policy),
        engines=len(engines),
        candidate_engines=sum(
            observed == promotion.candidate.digest for observed in engines.values()
        ),
        evidence_digest=_evidence_digest(promotion),
        effects=_effects(look) if look else _stored_effects(judgement),
        breaches=tuple(sentence for _, sentence in breaches),
        breached_guards=tuple(_GUARD_KEYS[guard] for guard, _ in breaches if guard in _GUARD_KEYS),
    )


def _sentence(promotion: Promotion, policy: PromotionPolicy, look: Look | None) -> str:
    if policy.is_paused:
        return "Promotions are paused: all engines run what is stable."
    if _waits(promotion, policy):
        return f"Waits for a user's approval. {promotion.advanced[-1].sentence}"
    if look is not None:
        return look.judgement.verdict.sentence
    if promotion.advanced:
        return promotion.advanced[-1].sentence
    return "Waits for the first walk of a request."


def _waits(promotion: Promotion, policy: PromotionPolicy) -> bool:
    is_open = promotion.ended is None
    return is_open and promotion.has_passed_canary and not policy.approves(promotion.id)


def _evidence_digest(promotion: Promotion) -> str:
    entries = (*promotion.advanced, promotion.ended, promotion.withdrawn)
    return next((entry.evidence for entry in reversed(entries) if entry and entry.evidence), "")


def _breaches(look: Look) -> tuple[tuple[str, str], ...]:
    """Return the words of every guard that does not hold, and the sentence about it."""
    return tuple((one.reason.subject, one.sentence) for one in look.judgement.breaches)


def _stored_breaches(judgement: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (one["reason"]["subject"], one["sentence"]) for one in judgement.get("breaches", ())
    )


def _effects(look: Look) -> tuple[EffectState, ...]:
    return tuple(
        EffectState(
            name=effect.name,
            measure=effect.measure,
            gain=effect.gain,
            lower=effect.lower,
            upper=effect.upper,
            num_records=effect.num_records,
            num_clusters=effect.num_clusters,
        )
        for effect in look.judgement.verdict.effects
    )


def _stored_effects(judgement: Mapping[str, Any]) -> tuple[EffectState, ...]:
    """Return effects as they were stored, where null is what was not known or not bounded."""
    return tuple(
        EffectState(
            name=effect["name"],
            measure=effect["measure"],
            gain=math.nan if effect["gain"] is None else effect["gain"],
            lower=effect["lower"],
            upper=math.inf if effect["upper"] is None else effect["upper"],
            num_records=effect["num_records"],
            num_clusters=effect["num_clusters"],
        )
        for effect in judgement.get("verdict", {}).get("effects", ())
    )
