"""DrafterPromotion objects of a cluster as the commands show them. Pure.

Fields that are not known here are passed over: the cluster's definitions may be newer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from specfleet_cli.promotions.listing import Listed
from specfleet_common.api.promotion import Decision, Phase, promotion_id
from specfleet_common.wire.messages import EffectState, PromotionState


def listed_object(item: Mapping[str, Any]) -> Listed:
    """Return the promotion that an object shows; without a status it is Pending."""
    spec, status = item["spec"], item.get("status") or {}
    decision = spec.get("decision")
    created = item["metadata"].get("creationTimestamp")
    state = PromotionState(
        id=promotion_id(spec["version"], spec["digest"]),
        number=spec["version"],
        digest=spec["digest"],
        phase=status.get("phase") or Phase.PENDING,
        outcome=status.get("outcome") or "",
        sentence=status.get("message") or "",
        started_at=_seconds(status.get("startedAt") or created),
        finished_at=_seconds(status.get("finishedAt")),
        engines=status.get("engines") or 0,
        candidate_engines=status.get("candidateEngines") or 0,
        evidence_digest=status.get("evidenceDigest") or "",
        waits_for_approval=bool(status.get("waitsForApproval")),
        effects=tuple(map(_effect, status.get("effects") or ())),
        breaches=tuple(status.get("breaches") or ()),
    )
    return Listed(
        name=item["metadata"]["name"],
        fleet=spec["fleet"],
        lineage=spec["lineage"],
        state=state,
        decision=None if decision is None else Decision(decision),
    )


def _effect(item: Mapping[str, Any]) -> EffectState:
    return EffectState(
        name=item["name"],
        measure=item["measure"],
        gain=_share(item.get("gainPercent"), unknown=math.nan),
        lower=_share(item.get("lowerPercent"), unknown=-1.0),
        upper=_share(item.get("upperPercent"), unknown=math.inf),
        num_records=item.get("records") or 0,
        num_clusters=item.get("clusters") or 0,
    )


def _share(percentage: str | None, *, unknown: float) -> float:
    return unknown if percentage is None else float(percentage) / 100


def _seconds(timestamp: str | None) -> float:
    return datetime.fromisoformat(timestamp).timestamp() if timestamp else 0.0
