"""Builds what an aggregator says."""

from __future__ import annotations

from specfleet_common.wire.messages import FleetState, Speculation, TrainerStatus, WorkerState


def worker(
    worker_id: str,
    *,
    observed_digest: str = "stock",
    phase: str = "training",
    local_steps: int = 0,
    engine_problem: str = "",
    speculation: Speculation | None = None,
) -> WorkerState:
    """Return a live worker that trains."""
    return WorkerState(
        worker_id=worker_id,
        cohort="main",
        live=True,
        trains=True,
        observed_digest=observed_digest,
        swaps=0,
        delta_counted=False,
        held=None,
        trainer=TrainerStatus(phase, local_steps, 0, 0, 0.0, ()),
        drafters=(),
        refused_deltas=0,
        refusal="",
        engine_problem=engine_problem,
        speculation=speculation,
    )


def state(
    *workers: WorkerState,
    round_: int = 1,
    deltas: int = 0,
    reason: str = "",
    received_bytes: int = 0,
) -> FleetState:
    """Return the state of a fleet whose workers have not told their lineage yet."""
    return FleetState(
        fleet="f",
        lineage=None,
        round=round_,
        base=None,
        stable=None,
        deltas=deltas,
        quorum=1,
        reason=reason,
        live_workers=len(workers),
        training_workers=len(workers),
        round_seconds=1.0,
        store_error="",
        workers=workers,
        received_bytes=received_bytes,
    )
