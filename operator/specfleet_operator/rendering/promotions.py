"""How a promotion is shown as a DrafterPromotion. The user's decision in it is never written."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from specfleet_common.api.promotion import (
    LONGEST_NAME,
    LONGEST_SENTENCE,
    MOST_BREACHES,
    MOST_EFFECTS,
    Phase,
)
from specfleet_common.wire.messages import EffectState, PromotionState
from specfleet_operator.aggregation import Judged
from specfleet_operator.comparing import stamped
from specfleet_operator.naming import API_VERSION, PROMOTION, PROMOTION_KIND, promotion_name
from specfleet_operator.rendering.subject import Json, Owner, owned
from specfleet_operator.timestamps import timestamp

WAITS = "WaitsForApproval"

_MOST_PERCENT = 1e12


def promotion_object(owner: Owner, judged: Judged) -> Json:
    """Return the object without its status."""
    promotion = judged.promotion
    item = owned(
        owner,
        API_VERSION,
        PROMOTION_KIND,
        promotion_name(owner.name, promotion.id),
        component=PROMOTION,
        body={
            "spec": {
                "fleet": owner.name,
                "lineage": judged.lineage,
                "version": promotion.number,
                "digest": promotion.digest,
            }
        },
    )
    return stamped(item)


def promotion_status(promotion: PromotionState, *, generation: int) -> Json:
    """Return the status of the object, whose spec has this generation."""
    return {
        "observedGeneration": generation,
        "phase": promotion.phase,
        **({"outcome": promotion.outcome} if promotion.outcome else {}),
        "waitsForApproval": promotion.waits_for_approval,
        "effects": [_effect(effect) for effect in promotion.effects[:MOST_EFFECTS]],
        "breaches": [text[:LONGEST_SENTENCE] for text in promotion.breaches[:MOST_BREACHES]],
        "breachedGuards": [
            guard[:LONGEST_NAME] for guard in promotion.breached_guards[:MOST_BREACHES]
        ],
        **({"evidenceDigest": promotion.evidence_digest} if promotion.evidence_digest else {}),
        **_engines(promotion),
        "startedAt": timestamp(promotion.started_at),
        **({"finishedAt": timestamp(promotion.finished_at)} if promotion.finished_at else {}),
        "message": promotion.sentence[:LONGEST_SENTENCE],
    }


def progress(promotion: PromotionState) -> str:
    """Return in one word how far a promotion is, or how it ended."""
    return promotion.outcome or (WAITS if promotion.waits_for_approval else promotion.phase)


def shown_progress(status: Mapping[str, Any]) -> str:
    """Return that word as the status of an object says it."""
    waits = bool(status.get("waitsForApproval"))
    return str(status.get("outcome") or (WAITS if waits else status.get("phase", "")))


def _engines(promotion: PromotionState) -> Json:
    """Return the counts of engines, which go on changing when a promotion has ended."""
    if promotion.phase == Phase.DONE:
        return {}
    return {"engines": promotion.engines, "candidateEngines": promotion.candidate_engines}


def _effect(effect: EffectState) -> Json:
    percentages = {
        "gainPercent": effect.gain,
        "lowerPercent": effect.lower,
        "upperPercent": effect.upper,
    }
    return {
        "name": effect.name[:LONGEST_NAME],
        "measure": effect.measure[:LONGEST_NAME],
        **{name: _percent(value) for name, value in percentages.items() if _is_known(value)},
        "records": effect.num_records,
        "clusters": effect.num_clusters,
    }


def _is_known(fraction: float) -> bool:
    return math.isfinite(fraction) and abs(100 * fraction) < _MOST_PERCENT


def _percent(fraction: float) -> str:
    text = f"{100 * fraction:.2f}"
    return text.removeprefix("-") if float(text) == 0 else text
