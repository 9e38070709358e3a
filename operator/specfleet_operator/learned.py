"""What the aggregator knows of a fleet, as its status shows it. Pure.

Figures that move all the time are written again only once they have moved enough, and what was
said last stays while the aggregator is silent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from specfleet_common import figures
from specfleet_common.wire.messages import WorkerState
from specfleet_operator.aggregation import Aggregation
from specfleet_operator.naming import promotion_name
from specfleet_operator.rendering.promotions import progress

SMALLEST_CHANGE = 0.05
"""An acceptance length that moved by less is not written again."""
SMALLEST_LOSS_CHANGE = 0.05
"""Losses of which none moved by this share are not written again."""
_OF_A_FLEET = ("drafter", "aggregation", "promotion", "acceptanceLength")
_OF_A_COHORT = ("adaptedReplicas", "drafter", "acceptanceLength")


def of_fleet(old: Mapping[str, Any], aggregation: Aggregation, *, fleet: str) -> dict[str, Any]:
    """Return the fields of the status, given those that were written last."""
    state = aggregation.current
    if state is None:
        return {name: old[name] for name in _OF_A_FLEET if name in old}
    drafter = {
        "stable": None if state.stable is None else figures.shown(state.stable),
        "candidate": None if state.candidate is None else figures.shown(state.candidate),
        "lineage": state.lineage_id or None,
    }
    found: dict[str, Any] = {
        "drafter": {name: value for name, value in drafter.items() if value is not None},
        "aggregation": {
            "round": state.round,
            "version": 0 if state.base is None else state.base.number,
            "liveWorkers": state.live_workers,
            "trainingWorkers": state.training_workers,
            **_losses(old.get("aggregation") or {}, aggregation.workers),
        },
    }
    if state.promotions:
        newest = state.promotions[0]
        found["promotion"] = {
            "name": promotion_name(fleet, newest.id),
            "phase": newest.phase,
            "reason": progress(newest),
        }
    return found | _acceptance_length(old, aggregation.workers)


def of_cohort(old: Mapping[str, Any], aggregation: Aggregation, *, cohort: str) -> dict[str, Any]:
    """Return the fields of the cohort in the status, given those that were written last."""
    if not aggregation.is_reachable:
        return {name: old[name] for name in _OF_A_COHORT if name in old}
    workers = figures.adapted(one for one in aggregation.workers if one.cohort == cohort)
    drafter = figures.drafter(workers, aggregation.current)
    return {
        "adaptedReplicas": len(workers),
        **({"drafter": drafter} if drafter else {}),
        **(_acceptance_length(old, workers) if workers else {}),
    }


def _acceptance_length(old: Mapping[str, Any], workers: Sequence[WorkerState]) -> dict[str, str]:
    before, length = old.get("acceptanceLength"), figures.acceptance_length(workers)
    if length is None or (before is not None and abs(length - float(before)) < SMALLEST_CHANGE):
        return {} if before is None else {"acceptanceLength": before}
    return {"acceptanceLength": f"{length:.2f}"}


def _losses(old: Mapping[str, Any], workers: Sequence[WorkerState]) -> dict[str, list[str]]:
    before, losses = old.get("losses", []), figures.losses(workers)
    has_moved = len(before) != len(losses) or any(
        abs(loss - float(was)) >= SMALLEST_LOSS_CHANGE * float(was)
        for loss, was in zip(losses, before, strict=True)
    )
    told = [f"{loss:.2f}" for loss in losses] if losses and has_moved else before
    return {"losses": list(told)} if told else {}
