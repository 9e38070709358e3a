"""What watchers see of a lineage, and of workers that are of none. Pure."""

from __future__ import annotations

from dataclasses import replace

from specfleet_aggregator import membership
from specfleet_aggregator.fleet import LineageState, Policy, training_workers
from specfleet_aggregator.membership import Member, Members
from specfleet_aggregator.round import open_reason, quorum
from specfleet_common.wire.messages import FleetState, WorkerState


def show(state: LineageState, policy: Policy, *, now: float) -> FleetState:
    """Return what watchers see."""
    live = membership.live(state.members, now=now, lease_seconds=policy.lease_seconds)
    training = len(training_workers(state, policy, now=now))
    round_ = state.round
    return FleetState(
        fleet=policy.fleet,
        lineage=state.lineage,
        round=round_.number if round_ else 0,
        base=round_.base if round_ else None,
        stable=None,
        deltas=len(round_.deltas) if round_ else 0,
        quorum=quorum(policy.round, training=training),
        reason=_reason(state, policy, training=training, now=now),
        live_workers=len(live),
        training_workers=training,
        round_seconds=max(0.0, now - round_.opened_at) if round_ else 0.0,
        store_error=state.store_error or state.read_error,
        workers=tuple(
            _of_lineage(state, worker_id, live=worker_id in live)
            for worker_id in sorted(state.members)
        ),
        received_bytes=state.received_bytes,
        sent_bytes=state.sent_bytes,
        settings_generation=policy.generation,
        settings_error=policy.settings_error,
    )


def nothing(policy: Policy) -> FleetState:
    """Return what watchers see before any worker has reported."""
    return FleetState(
        fleet=policy.fleet,
        lineage=None,
        round=0,
        base=None,
        stable=None,
        deltas=0,
        quorum=quorum(policy.round, training=0),
        reason="no worker has reported",
        live_workers=0,
        training_workers=0,
        round_seconds=0.0,
        store_error="",
        workers=(),
        settings_generation=policy.generation,
        settings_error=policy.settings_error,
    )


def strangers(members: Members, policy: Policy, *, now: float) -> tuple[WorkerState, ...]:
    """Return what watchers see of workers whose engines cannot be adapted."""
    live = membership.live(members, now=now, lease_seconds=policy.lease_seconds)
    return tuple(_worker(members[name], live=name in live) for name in sorted(members))


def _reason(state: LineageState, policy: Policy, *, training: int, now: float) -> str:
    if state.round is not None:
        reason = open_reason(state.round, policy.round, training=training)
        return f"{reason}, more may return after the restart" if now < state.settled_at else reason
    if not state.loaded:
        return "waiting for the store"
    return "waiting for the stock drafter of a worker"


def _of_lineage(state: LineageState, worker_id: str, *, live: bool) -> WorkerState:
    refusals = state.refusals.get(worker_id)
    return replace(
        _worker(state.members[worker_id], live=live),
        delta_counted=state.round is not None and worker_id in state.round.deltas,
        refused_deltas=refusals.number if refusals else 0,
        refusal=refusals.reason if refusals else "",
    )


def _worker(member: Member, *, live: bool) -> WorkerState:
    beat = member.beat
    return WorkerState(
        worker_id=beat.worker_id,
        cohort=beat.cohort,
        live=live,
        trains=beat.trains,
        observed_digest=beat.observed_digest,
        swaps=beat.swaps,
        delta_counted=False,
        held=beat.held,
        trainer=beat.trainer,
        drafters=beat.drafters,
        refused_deltas=0,
        refusal="",
        engine_problem=beat.engine_problem,
        speculation=beat.speculation,
    )
