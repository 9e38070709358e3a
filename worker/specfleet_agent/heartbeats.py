"""What a heartbeat says. Pure: when it is sent is `link`'s business."""

from __future__ import annotations

from specfleet_agent import transfers
from specfleet_agent.engine_page import EnginePage
from specfleet_agent.situation import Situation, Worker
from specfleet_common.lineage import STOCK
from specfleet_common.wire.messages import DrafterCounters, Heartbeat, TrainerStatus


def heartbeat(
    worker: Worker, page: EnginePage, seen: Situation, *, trainer_phase: str
) -> Heartbeat:
    """Return this worker's complete state."""
    return Heartbeat(
        worker_id=worker.id,
        cohort=worker.cohort,
        trains=worker.trains,
        lineage=page.lineage,
        stock_digest=page.stock_digest,
        held=transfers.held(worker, seen),
        observed_digest=page.observed,
        swaps=page.swaps,
        trainer=_trainer(seen, trainer_phase),
        drafters=tuple(
            DrafterCounters(
                digest=page.stock_digest if drafter.digest == STOCK else drafter.digest,
                verify_steps=drafter.verify_steps,
                drafted=drafter.drafted,
                accepted=drafter.accepted,
                output_tokens=drafter.output_tokens,
                busy_seconds=drafter.busy_seconds,
            )
            for drafter in page.drafters
        ),
    )


def _trainer(seen: Situation, phase: str) -> TrainerStatus:
    report = seen.files.report
    if report is None:
        return TrainerStatus(phase, 0, 0, 0, 0.0, ())
    return TrainerStatus(
        phase=phase,
        local_steps=report.local_steps,
        total_steps=report.total_steps,
        positions=report.positions,
        positions_per_second=report.positions_per_second,
        loss=report.loss,
    )
