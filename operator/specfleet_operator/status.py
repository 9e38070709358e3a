"""The status of a fleet: what is written, and which of its changes are told as events.

Numbers that move all the time are left out or rounded, so that a fleet at rest is not written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from specfleet_common.api.fleet import MAIN_COHORT
from specfleet_common.lineage import STOCK, short
from specfleet_common.wire.messages import VersionRef, WorkerState
from specfleet_operator.aggregation import Aggregation
from specfleet_operator.cohorts import Cohort
from specfleet_operator.conditions import READY, Verdict
from specfleet_operator.naming import ENGINE, promotion_name
from specfleet_operator.rendering.promotions import progress
from specfleet_operator.rendering.subject import selector
from specfleet_operator.timestamps import timestamp

SMALLEST_CHANGE = 0.05
"""An acceptance length that moved by less is not written again."""
FEWEST_STEPS = 100
"""Fewer verification steps say nothing: every new drafter begins with none."""
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
            }
            for cohort in cohorts
        ],
        **_learned(old, aggregation, fleet=fleet),
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


def _learned(old: Mapping[str, Any], aggregation: Aggregation, *, fleet: str) -> dict[str, Any]:
    """Return what the aggregator knows, or what it said last while it is silent."""
    state = aggregation.current
    if state is None:
        known = ("drafter", "aggregation", "promotion", "acceptanceLength")
        return {name: old[name] for name in known if name in old}
    drafter = {
        "stable": None if state.stable is None else _shown(state.stable),
        "candidate": None if state.candidate is None else _shown(state.candidate),
        "lineage": state.lineage_id or None,
    }
    found: dict[str, Any] = {
        "drafter": {name: value for name, value in drafter.items() if value is not None},
        "aggregation": {
            "round": state.round,
            "version": 0 if state.base is None else state.base.number,
            "liveWorkers": state.live_workers,
            "trainingWorkers": state.training_workers,
        },
    }
    if state.promotions:
        newest = state.promotions[0]
        found["promotion"] = {
            "name": promotion_name(fleet, newest.id),
            "phase": newest.phase,
            "reason": progress(newest),
        }
    length = _acceptance_length(old.get("acceptanceLength"), aggregation.workers)
    return found if length is None else {**found, "acceptanceLength": length}


def _shown(version: VersionRef) -> str:
    return STOCK if version.number == 0 else f"{version.number}-{short(version.digest)}"


def _acceptance_length(old: str | None, workers: Sequence[WorkerState]) -> str | None:
    """Return tokens per verification step of the drafters that live engines run now."""
    counters = [
        drafter
        for worker in workers
        if worker.live
        for drafter in worker.drafters
        if drafter.digest == worker.observed_digest
    ]
    steps = sum(drafter.verify_steps for drafter in counters)
    if steps < FEWEST_STEPS:
        return old
    length = 1 + sum(sum(drafter.accepted) for drafter in counters) / steps
    if old is not None and abs(length - float(old)) < SMALLEST_CHANGE:
        return old
    return f"{length:.2f}"
