"""The status of a fleet: what is written, and which of its changes are told as events.

Numbers that move all the time are left out or rounded, so that a fleet at rest is not written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from specfleet_common.api.fleet import MAIN_COHORT
from specfleet_operator import learned
from specfleet_operator.aggregation import Aggregation
from specfleet_operator.cohorts import Cohort
from specfleet_operator.conditions import READY, Verdict
from specfleet_operator.naming import ENGINE
from specfleet_operator.rendering.subject import selector
from specfleet_operator.timestamps import timestamp

LONGEST_MESSAGE = 2000


def status(
    old: Mapping[str, Any],
    *,
    fleet: str,
    generation: int,
    cohorts: Sequence[Cohort],
    verdicts: Mapping[str, Verdict],
    aggregation: Aggregation,
    now: float,
) -> dict[str, Any]:
    """Return the whole status, given the one that was written last."""
    main = [cohort for cohort in cohorts if cohort.name == MAIN_COHORT]
    pairs = selector(fleet, ENGINE, MAIN_COHORT).items()
    wanted = sum(cohort.wanted for cohort in cohorts)
    cohorts_before = {one["name"]: one for one in old.get("cohorts", ())}
    return {
        "observedGeneration": generation,
        "conditions": [
            _condition(kind, verdict, _old_condition(old, kind), generation=generation, now=now)
            for kind, verdict in verdicts.items()
        ],
        "replicas": sum(len(cohort.pods) for cohort in main),
        "readyReplicas": sum(cohort.ready for cohort in main),
        "selector": ",".join(f"{key}={value}" for key, value in pairs),
        "engines": f"{sum(cohort.ready for cohort in cohorts)}/{wanted}",
        "cohorts": [
            {
                "name": cohort.name,
                "replicas": len(cohort.pods),
                "readyReplicas": cohort.ready,
                "updatedReplicas": cohort.updated,
                **learned.of_cohort(
                    cohorts_before.get(cohort.name, {}), aggregation, cohort=cohort.name
                ),
            }
            for cohort in cohorts
        ],
        **learned.of_fleet(old, aggregation, fleet=fleet),
    }


def carried_over(old: Mapping[str, Any], kind: str, *, generation: int) -> Verdict | None:
    """Return what was written about the condition, if it was about this generation."""
    found = _old_condition(old, kind)
    if found is None or found.get("observedGeneration") != generation:
        return None
    return Verdict(found["status"], found["reason"], found["message"])


def transitions(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the new conditions that a person may want to hear of.

    Ready says nothing that another condition says at the same moment, unless it becomes true.
    """
    changed = []
    for condition in new["conditions"]:
        before = _old_condition(old, condition["type"]) or {}
        states = [(one.get("status"), one.get("reason")) for one in (before, condition)]
        if states[0] != states[1]:
            changed.append(condition)
    said = {condition["reason"] for condition in changed if condition["type"] != READY}
    return [
        condition
        for condition in changed
        if condition["type"] != READY or condition["reason"] not in said
    ]


def _condition(
    kind: str,
    verdict: Verdict,
    old: Mapping[str, Any] | None,
    *,
    generation: int,
    now: float,
) -> dict[str, Any]:
    stays = old is not None and old["status"] == verdict.status
    return {
        "type": kind,
        "status": verdict.status,
        "observedGeneration": generation,
        "lastTransitionTime": old["lastTransitionTime"] if old and stays else timestamp(now),
        "reason": verdict.reason,
        "message": _shortened(verdict.message),
    }


def _shortened(message: str) -> str:
    """Return what the status takes and a person reads; API servers quote whole objects."""
    return message if len(message) <= LONGEST_MESSAGE else f"{message[:LONGEST_MESSAGE]}…"


def _old_condition(old: Mapping[str, Any], kind: str) -> Mapping[str, Any] | None:
    conditions: Sequence[Mapping[str, Any]] = old.get("conditions", ())
    return next((condition for condition in conditions if condition["type"] == kind), None)
