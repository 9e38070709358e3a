"""What the workers of a fleet report, summed up for people: the same in a cluster and on a machine.

Pure. Figures are unrounded; who writes them down says how often they may move.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from specfleet_common.lineage import STOCK, short
from specfleet_common.wire.messages import FleetState, VersionRef, WorkerState

FEWEST_STEPS = 100
"""Fewer verification steps say nothing: every new drafter begins with none."""


def newest(states: Iterable[FleetState]) -> FleetState | None:
    """Return the state of the lineage that most engines are of, None when there is none."""
    return max(states, key=lambda state: (state.live_workers, state.round), default=None)


def workers_of(states: Iterable[FleetState]) -> tuple[WorkerState, ...]:
    """Return every worker once: one of no lineage is in the state of each."""
    found = {worker.worker_id: worker for state in states for worker in state.workers}
    return tuple(found.values())


def adapted(workers: Iterable[WorkerState]) -> tuple[WorkerState, ...]:
    """Return those that hold a lease and whose engines take new drafters."""
    return tuple(worker for worker in workers if worker.live and not worker.engine_problem)


def shown(version: VersionRef) -> str:
    """Return a version as people know it: its number and short digest, or `stock`."""
    return STOCK if version.number == 0 else f"{version.number}-{short(version.digest)}"


def drafter(workers: Sequence[WorkerState], state: FleetState | None) -> str:
    """Return what most of the workers' engines run, empty when nobody says; `local` is a word."""
    observed = Counter(worker.observed_digest for worker in workers if worker.observed_digest)
    if not observed:
        return ""
    # The digest settles a tie, so that the answer stays while nothing changes.
    digest, _ = max(observed.items(), key=lambda one: (one[1], one[0]))
    known = (state.base, state.stable, state.candidate) if state is not None else ()
    held = (worker.held for worker in workers)
    for version in (*known, *held):
        if version is not None and version.digest == digest:
            return shown(version)
    return short(digest)


def acceptance_length(workers: Iterable[WorkerState]) -> float | None:
    """Return tokens per verification step of the drafters that live engines run now."""
    counters = [
        counted
        for worker in workers
        if worker.live
        for counted in worker.drafters
        if counted.digest == worker.observed_digest
    ]
    steps = sum(counted.verify_steps for counted in counters)
    if steps < FEWEST_STEPS:
        return None
    return 1 + sum(sum(counted.accepted) for counted in counters) / steps


def losses(workers: Iterable[WorkerState]) -> tuple[float, ...]:
    """Return the mean loss of each drafted token over the live trainers; empty before any step."""
    found: list[Sequence[float]] = [
        worker.trainer.loss
        for worker in workers
        if worker.live and worker.trains and worker.trainer.loss
    ]
    depths = min(map(len, found), default=0)
    return tuple(sum(loss[depth] for loss in found) / len(found) for depth in range(depths))
