"""What a heartbeat says. Pure: when it is sent is `link`'s business."""

from __future__ import annotations

from specfleet_agent import needs
from specfleet_agent.situation import Situation, Worker
from specfleet_common.lineage import STOCK
from specfleet_common.wire.codec import MAX_PROBLEM_LETTERS
from specfleet_common.wire.messages import DrafterCounters, Heartbeat, TrainerStatus


def heartbeat(worker: Worker, seen: Situation, *, trainer_phase: str) -> Heartbeat | None:
    """Return this worker's complete state, None while it has no engine."""
    page, problem = seen.page, seen.engine_problem[:MAX_PROBLEM_LETTERS]
    if page is None:
        return _without_page(worker, seen, problem, trainer_phase) if problem else None
    return Heartbeat(
        worker_id=worker.id,
        cohort=worker.cohort,
        trains=worker.trains,
        lineage=page.lineage,
        stock_digest=page.stock_digest,
        held=needs.held(worker, seen),
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
        engine_problem=problem,
        serve=worker.serve.value,
        speculation=seen.break_even.speculation,
    )


def _without_page(worker: Worker, seen: Situation, problem: str, trainer_phase: str) -> Heartbeat:
    """Return the state of a worker whose engine cannot be adapted."""
    return Heartbeat(
        worker_id=worker.id,
        cohort=worker.cohort,
        trains=worker.trains,
        lineage=None,
        stock_digest="",
        held=None,
        observed_digest="",
        swaps=0,
        trainer=_trainer(seen, trainer_phase),
        drafters=(),
        engine_problem=problem,
        serve=worker.serve.value,
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
