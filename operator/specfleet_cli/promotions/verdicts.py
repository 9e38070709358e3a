"""The verdicts of a promotion that are in the store, and what was measured by them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from specfleet_cli.promotions.listing import Listed
from specfleet_common.store import evidence
from specfleet_common.store.base import Store
from specfleet_common.store.evidence import StoredVerdict
from specfleet_common.wire.messages import EffectState


def stored_verdicts(store: Store, lineage_id: str, promotion: str) -> tuple[StoredVerdict, ...]:
    """Return all verdicts of a promotion, then those of the comparison after it, in their order."""
    return tuple(
        verdict
        for set_ in (promotion, evidence.after(promotion))
        for verdict in evidence.verdicts(store, lineage_id, set_)
    )


def with_effects(promotion: Listed, store: Store) -> Listed:
    """Return a promotion with what its last verdict says was measured."""
    for verdict in reversed(stored_verdicts(store, promotion.lineage, promotion.state.id)):
        judgement = verdict.judgement
        state = replace(
            promotion.state,
            effects=tuple(map(_effect, judgement["verdict"]["effects"])),
            breaches=tuple(breach["sentence"] for breach in judgement["breaches"]),
        )
        return replace(promotion, state=state)
    return promotion


def _effect(item: Mapping[str, Any]) -> EffectState:
    """Return an effect; what the file has null for is unknown or not bounded."""
    return EffectState(
        name=item["name"],
        measure=item["measure"],
        gain=math.nan if item["gain"] is None else item["gain"],
        lower=item["lower"],
        upper=math.inf if item["upper"] is None else item["upper"],
        num_records=item["num_records"],
        num_clusters=item["num_clusters"],
    )
