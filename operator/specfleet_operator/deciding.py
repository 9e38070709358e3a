"""What users have decided about the fleet's promotions, for its aggregator. Pure.

A decision counts until its promotion has ended; from then on the ledger knows it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from specfleet_common.api.learning import MAX_DECISIONS, SettingsError, parse_settings
from specfleet_common.api.promotion import Decision, Phase, promotion_id
from specfleet_operator.aggregation import Aggregation
from specfleet_operator.mirroring import promotions_of
from specfleet_operator.observed import Object
from specfleet_operator.rendering.config import SETTINGS_FILE, settings_name


def decisions(
    fleet: str, children: Collection[Object], aggregation: Aggregation
) -> dict[str, Decision]:
    """Return what is decided about promotions that have not ended, the newest versions' first.

    An Abort that was passed on already stays, even if its object was deleted and made again.
    """
    told = _told(fleet, children)
    objects = {_id(item): item for item in promotions_of(children).values()}
    wishes = {
        promotion: Decision(item["spec"]["decision"])
        for promotion, item in objects.items()
        if item["spec"].get("decision")
    }
    final = {one: decision for one, decision in told.items() if decision is Decision.ABORT}
    decided = {**wishes, **final}
    counting = decided.keys() & _unfinished(objects, told, aggregation)
    newest = sorted(counting, key=lambda one: (-_number(one), one))[:MAX_DECISIONS]
    return {one: decided[one] for one in newest}


def _unfinished(
    objects: Mapping[str, Object], told: Iterable[str], aggregation: Aggregation
) -> set[str]:
    """Return the promotions that have not ended, as far as is known."""
    phases = {one: (item.get("status") or {}).get("phase") for one, item in objects.items()}
    if aggregation.is_reachable:
        phases |= {one.promotion.id: one.promotion.phase for one in aggregation.promotions}
    else:
        phases = dict.fromkeys(told) | phases
    return {one for one, phase in phases.items() if phase != Phase.DONE}


def _told(fleet: str, children: Iterable[Object]) -> Mapping[str, Decision]:
    """Return the decisions that were passed on last."""
    for item in children:
        if item["kind"] == "ConfigMap" and item["metadata"]["name"] == settings_name(fleet):
            try:
                return parse_settings(item["data"][SETTINGS_FILE].encode()).decisions
            except (KeyError, SettingsError):
                return {}  # Somebody changed it; it is written anew.
    return {}


def _id(item: Object) -> str:
    return promotion_id(item["spec"]["version"], item["spec"]["digest"])


def _number(promotion: str) -> int:
    return int(promotion.partition("-")[0])
