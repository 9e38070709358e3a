"""A fleet that runs on this machine as a report: from what its processes answer. Pure.

Its conditions have the names and the reasons that they have in a cluster.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from specfleet_cli.endpoints import Fleet
from specfleet_cli.promotions.listing import Listed
from specfleet_cli.status.report import Cohort, Condition, Learning, Report
from specfleet_common import figures
from specfleet_common.lineage import MISMATCH
from specfleet_common.store.location import shown
from specfleet_common.wire.messages import FleetState, WorkerState


@dataclass(frozen=True, slots=True)
class Seen:
    """What was found out of a run."""

    fleet: Fleet
    answering: frozenset[str]
    """Names of the workers whose engines say that they are ready."""
    states: tuple[FleetState, ...] = ()
    """What the aggregator has told of every lineage; nothing when it told none."""
    silence: str = ""
    """Why the aggregator told nothing."""


def report_of(seen: Seen) -> Report:
    """Return what is known of the run."""
    fleet, state = seen.fleet, figures.newest(seen.states)
    workers = figures.workers_of(seen.states)
    return Report(
        name=fleet.fleet,
        namespace="",
        target=fleet.served_model_name,
        store=shown(fleet.store),
        conditions=_conditions(seen, workers),
        cohorts=tuple(_cohorts(seen, workers, state)),
        stable=figures.shown(state.stable) if state and state.stable else "",
        candidate=figures.shown(state.candidate) if state and state.candidate else "",
        acceptance_length=figures.acceptance_length(workers),
        learning=None if state is None else _learning(state, workers),
        promotion=None if state is None else _promotion(fleet.fleet, state),
    )


def _cohorts(
    seen: Seen, workers: Sequence[WorkerState], state: FleetState | None
) -> Iterator[Cohort]:
    members = seen.fleet.workers
    for name in dict.fromkeys(member.cohort for member in members):
        these = [member for member in members if member.cohort == name]
        reported = figures.adapted(worker for worker in workers if worker.cohort == name)
        yield Cohort(
            name=name,
            serve=these[0].serve,
            train=these[0].train,
            replicas=len(these),
            ready=sum(member.name in seen.answering for member in these),
            adapted=None if state is None else len(reported),
            drafter=figures.drafter(reported, state),
            acceptance_length=figures.acceptance_length(reported),
        )


def _learning(state: FleetState, workers: Sequence[WorkerState]) -> Learning:
    return Learning(
        round=state.round,
        version=0 if state.base is None else state.base.number,
        live_workers=state.live_workers,
        training_workers=state.training_workers,
        losses=figures.losses(workers),
        deltas=state.deltas,
        quorum=state.quorum,
    )


def _promotion(fleet: str, state: FleetState) -> Listed | None:
    if not state.promotions:
        return None
    newest = state.promotions[0]
    return Listed(name=newest.id, fleet=fleet, lineage=state.lineage_id, state=newest)


def _conditions(seen: Seen, workers: Sequence[WorkerState]) -> tuple[Condition, ...]:
    others = tuple(
        one
        for one in (_serving(seen), _training(seen, workers), _aggregating(seen))
        if one is not None
    )
    return (_ready(seen, workers, others), *others)


def _ready(seen: Seen, workers: Sequence[WorkerState], others: Collection[Condition]) -> Condition:
    names = {worker.worker_id: worker.name for worker in seen.fleet.workers}
    total, ready = len(names), len(seen.answering)
    if ready < total:
        waiting = ", ".join(sorted(set(names.values()) - seen.answering))
        message = f"{ready} of {total} engines are ready, waiting for {waiting}."
        return Condition("Ready", "False", "Starting", message)
    wrong = [one.worker_id for one in workers if one.live and one.observed_digest == MISMATCH]
    if wrong:
        where = ", ".join(sorted(names.get(one, one) for one in wrong))
        message = f"The drafter in {where} is not the one that was put there."
        return Condition("Ready", "False", "DigestMismatch", message)
    for one in workers:
        if one.live and one.engine_problem:
            message = f"{names.get(one.worker_id, one.worker_id)} says: {one.engine_problem}"
            return Condition("Ready", "False", "EngineNotAdapted", message)
    for condition in others:
        if condition.status != "True":
            return Condition("Ready", "False", condition.reason, condition.message)
    return Condition("Ready", "True", "AsSpecified", "Everything runs as the manifest says.")


def _serving(seen: Seen) -> Condition:
    total, ready = len(seen.fleet.workers), len(seen.answering)
    if not ready:
        return Condition("Serving", "False", "Starting", "No engine answers.")
    reason = "EnginesReady" if ready == total else "SomeEnginesReady"
    return Condition("Serving", "True", reason, f"{ready} of {total} engines answer.")


def _training(seen: Seen, workers: Sequence[WorkerState]) -> Condition | None:
    wanted = sum(worker.train for worker in seen.fleet.workers)
    if not wanted:
        return None
    if not seen.states:
        message = "Nothing is known of the trainers while the aggregator says nothing."
        return Condition("Training", "Unknown", "AggregatorUnreachable", message)
    trainers = [worker for worker in workers if worker.live and worker.trains]
    if not trainers:
        message = "No training engine has a lease yet."
        return Condition("Training", "False", "NoTrainerLive", message)
    parked = sum(worker.trainer.phase == "parked" for worker in trainers)
    if parked:
        message = (
            f"{parked} of {len(trainers)} trainers failed too often and are tried again every 5 "
            "minutes; the agent's log says why."
        )
        return Condition("Training", "False", "TrainerParked", message)
    reason = "TrainersLive" if len(trainers) == wanted else "SomeTrainersLive"
    message = f"{len(trainers)} of {wanted} trainers have a lease."
    return Condition("Training", "True", reason, message)


def _aggregating(seen: Seen) -> Condition:
    if not seen.states:
        message = f"The aggregator says nothing: {seen.silence}"
        return Condition("Aggregating", "False", "AggregatorUnreachable", message)
    for state in seen.states:
        if state.store_error:
            message = f"The store takes no new version: {state.store_error}"
            return Condition("Aggregating", "False", "StoreUnreachable", message)
        if state.settings_error:
            return Condition("Aggregating", "False", "SettingsRefused", state.settings_error)
    return Condition("Aggregating", "True", "RoundOpen", "The engines' deltas become versions.")
