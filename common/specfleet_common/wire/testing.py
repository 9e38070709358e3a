"""Builders of what an aggregator says, for the tests of those who listen to it."""

from __future__ import annotations

from typing import Any

from specfleet_common.wire.messages import (
    DrafterCounters,
    FleetState,
    TrainerStatus,
    VersionRef,
    WorkerState,
)


def version(number: int) -> VersionRef:
    """Return a version whose digest starts with its number."""
    return VersionRef(number=number, digest=f"{number:08d}{'f' * 56}", size_bytes=10)


def trainer(phase: str) -> TrainerStatus:
    """Return what a trainer in this phase reports."""
    return TrainerStatus(phase, 5, 65, 5000, 420.4, (2.5, 3.25))


def worker_state(**changes: Any) -> WorkerState:
    """Return a live worker that trains."""
    fields: dict[str, Any] = {
        "worker_id": "main-0-abc",
        "cohort": "main",
        "live": True,
        "trains": True,
        "observed_digest": "stock",
        "swaps": 0,
        "delta_counted": False,
        "held": None,
        "trainer": trainer("training"),
        "drafters": (DrafterCounters("stock", 10, (10, 10), (5, 5), 20, 1.0),),
        "refused_deltas": 0,
        "refusal": "",
    }
    return WorkerState(**{**fields, **changes})


def fleet_state(*workers: WorkerState, **changes: Any) -> FleetState:
    """Return what the aggregator tells of one lineage."""
    fields: dict[str, Any] = {
        "fleet": "tiny",
        "lineage": None,
        "round": 3,
        "base": version(3),
        "stable": version(0),
        "deltas": 0,
        "quorum": 1,
        "reason": "",
        "live_workers": len(workers),
        "training_workers": len(workers),
        "round_seconds": 1.0,
        "store_error": "",
        "workers": workers,
    }
    return FleetState(**{**fields, **changes})
