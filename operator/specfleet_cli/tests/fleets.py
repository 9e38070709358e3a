"""Builders of fleets, plans, and what an aggregator says, for tests to change at one place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from specfleet_cli.plan import FleetPlan, Place, num_ports, plan
from specfleet_common.api.fleet import SpeculatorFleet
from specfleet_common.api.loading import parse_fleet
from specfleet_common.api.testing import manifest
from specfleet_common.wire.messages import (
    DrafterCounters,
    FleetState,
    TrainerStatus,
    VersionRef,
    WorkerState,
)

PLACE = Place(python="/py", out=Path("/out"), shm_directory=Path("/dev/shm/x"), run_id="abc")


def fleet(**changes: Any) -> SpeculatorFleet:
    """Return the smallest fleet with some fields changed, as in `manifest`."""
    return parse_fleet(manifest(**changes), source="test")


def planned(**changes: Any) -> FleetPlan:
    """Return the plan of that fleet on ports from 5000."""
    wanted = fleet(**changes)
    return plan(wanted, PLACE, range(5000, 5000 + num_ports(wanted)))


def version(number: int) -> VersionRef:
    """Return a version whose digest starts with its number."""
    return VersionRef(number=number, digest=f"{number:08d}{'f' * 56}", size_bytes=10)


def worker_state(**changes: Any) -> WorkerState:
    """Return a worker that trains."""
    fields: dict[str, Any] = {
        "worker_id": "main-0-abc",
        "cohort": "main",
        "live": True,
        "trains": True,
        "observed_digest": "stock",
        "swaps": 0,
        "delta_counted": False,
        "held": None,
        "trainer": TrainerStatus("training", 5, 65, 5000, 420.4, (2.5, 3.25)),
        "drafters": (DrafterCounters("stock", 10, (10, 10), (5, 5), 20, 1.0),),
        "refused_deltas": 0,
        "refusal": "",
    }
    return WorkerState(**{**fields, **changes})


def fleet_state(*workers: WorkerState, **changes: Any) -> FleetState:
    """Return what the aggregator tells."""
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
