"""What is told as an Event: what changed and a person may want to know. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from specfleet_common.api.promotion import Outcome, Phase
from specfleet_operator.aggregation import Aggregation
from specfleet_operator.mirroring import promotions_of
from specfleet_operator.naming import PROMOTION_KIND, promotion_name
from specfleet_operator.observed import Observed
from specfleet_operator.rendering.promotions import progress, shown_progress

_ON_ITS_WAY = frozenset(
    {
        "AggregatorNotReady",
        "Changing",
        "Inconclusive",
        "NoEvidence",
        "NoTrainerLive",
        "NotConnected",
        "PodsMissing",
        "Replacing",
        "ScaledToZero",
        "SettingsPending",
        "Starting",
    }
)
"""Reasons why something does not hold that are no trouble."""


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that changed and that a person may want to know: becomes an Event."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str


def conditions_told(changed: Iterable[Mapping[str, Any]]) -> tuple[Happening, ...]:
    """Tell of conditions that have changed.

    What holds is told under the condition's name, because events stand among others: of the reason
    that something is as it should be, nobody would know what it is about.
    """
    return tuple(
        Happening("Normal", one["type"], one["message"])
        if one["status"] == "True"
        else Happening(
            "Normal" if one["reason"] in _ON_ITS_WAY else "Warning", one["reason"], one["message"]
        )
        for one in changed
        if one["status"] != "Unknown"
    )


def replacements_told(names: Iterable[str]) -> tuple[Happening, ...]:
    """Tell of pods that are replaced."""
    return tuple(
        Happening("Normal", "ReplacingEngine", f"{name} is replaced, because its template changed.")
        for name in names
    )


def promotions_told(observed: Observed, aggregation: Aggregation) -> tuple[Happening, ...]:
    """Tell of promotions that were opened, went on or ended since their objects were written."""
    found = promotions_of(observed.children)
    fleet = observed.fleet["metadata"]["name"]
    known = (observed.fleet.get("status") or {}).get("promotion", {}).get("name")
    told = []
    for one in aggregation.promotions:
        name = promotion_name(fleet, one.promotion.id)
        status = found.get(name, {}).get("status") or {}
        word, before = progress(one.promotion), shown_progress(status)
        if not before and (one.promotion.phase == Phase.DONE or name == known):
            # Its object was deleted, or this operator has never seen it going on.
            continue
        if before != word:
            told.append(
                Happening(
                    "Warning" if one.promotion.outcome == Outcome.ROLLED_BACK else "Normal",
                    "PromotionOpened" if not before else f"Promotion{word}",
                    f"{name}: {one.promotion.sentence}",
                )
            )
    return tuple(told)


def refusals_told(observed: Observed) -> tuple[Happening, ...]:
    """Tell of promotions that cannot be shown, which changes nothing about them."""
    return tuple(
        Happening("Warning", "PromotionRefused", f"{one.key}: {one.message}")
        for one in observed.refused
        if one.key.kind == PROMOTION_KIND
    )
