"""Promotions, as watchers get them, as messages."""

from __future__ import annotations

from specfleet_common.wire.codec.checking import checked_digest, checked_name, not_negative
from specfleet_common.wire.messages import EffectState, PromotionState
from specfleet_common.wire.v1 import specfleet_pb2 as pb


def encode_promotion(promotion: PromotionState) -> pb.PromotionState:
    """Return the message that shows `promotion`."""
    return pb.PromotionState(
        id=promotion.id,
        number=promotion.number,
        digest=promotion.digest,
        phase=promotion.phase,
        outcome=promotion.outcome,
        sentence=promotion.sentence,
        started_at=promotion.started_at,
        finished_at=promotion.finished_at,
        waits_for_approval=promotion.waits_for_approval,
        engines=promotion.engines,
        candidate_engines=promotion.candidate_engines,
        evidence_digest=promotion.evidence_digest,
        effects=[_encode_effect(effect) for effect in promotion.effects],
        breaches=promotion.breaches,
        breached_guards=promotion.breached_guards,
    )


def decode_promotion(message: pb.PromotionState) -> PromotionState:
    """Return one promotion of a fleet."""
    return PromotionState(
        id=checked_name(message.id, "promotions.id"),
        number=message.number,
        digest=checked_digest(message.digest, "promotions.digest"),
        phase=checked_name(message.phase, "promotions.phase"),
        outcome=checked_name(message.outcome, "promotions.outcome") if message.outcome else "",
        sentence=message.sentence,
        started_at=not_negative(message.started_at, "promotions.started_at"),
        finished_at=not_negative(message.finished_at, "promotions.finished_at"),
        waits_for_approval=message.waits_for_approval,
        engines=message.engines,
        candidate_engines=message.candidate_engines,
        evidence_digest=checked_digest(
            message.evidence_digest, "promotions.evidence_digest", may_be_empty=True
        ),
        effects=tuple(_decode_effect(effect) for effect in message.effects),
        breaches=tuple(message.breaches),
        breached_guards=tuple(
            checked_name(guard, "promotions.breached_guards") for guard in message.breached_guards
        ),
    )


def _encode_effect(effect: EffectState) -> pb.EffectState:
    return pb.EffectState(
        name=effect.name,
        measure=effect.measure,
        gain=effect.gain,
        lower=effect.lower,
        upper=effect.upper,
        num_records=effect.num_records,
        num_clusters=effect.num_clusters,
    )


def _decode_effect(message: pb.EffectState) -> EffectState:
    """Return an effect; what is not known is NaN, and what is not bounded infinite."""
    return EffectState(
        name=message.name,
        measure=message.measure,
        gain=message.gain,
        lower=message.lower,
        upper=message.upper,
        num_records=message.num_records,
        num_clusters=message.num_clusters,
    )
