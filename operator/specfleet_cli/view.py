"""One picture of a running fleet, and what to say about it in words. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from specfleet_cli.plan import FleetPlan, WorkerPlan
from specfleet_cli.promotion_view import promotion_changes, promotion_line
from specfleet_cli.supervising import Phase, ProcessState
from specfleet_common.lineage import LOCAL, short
from specfleet_common.wire.messages import FleetState, VersionRef, WorkerState

_LONGEST_LINE = 60


@dataclass(frozen=True, slots=True)
class View:
    """Everything that is known at one moment; `fleet` is None until the aggregator has told."""

    now: float
    processes: Mapping[str, ProcessState] = field(default_factory=dict)
    last_lines: Mapping[str, str] = field(default_factory=dict)
    fleet: FleetState | None = None
    acceptance: Mapping[str, float | None] = field(default_factory=dict)

    def worker(self, worker_id: str) -> WorkerState | None:
        """Return what the aggregator knows of a worker."""
        workers = self.fleet.workers if self.fleet else ()
        return next((worker for worker in workers if worker.worker_id == worker_id), None)


def replaces(told: FleetState, known: FleetState | None) -> bool:
    """Say whether to show a state: not when no worker is in its lineage, but some in the known."""
    if known is None or known.lineage_id == told.lineage_id:
        return True
    return told.live_workers > 0 or known.live_workers == 0


COLUMNS = (
    "worker",
    "engine",
    "agent",
    "drafter",
    "swaps",
    "acceptance",
    "trainer",
    "steps",
    "positions/s",
    "loss",
)
UNKNOWN = "-"


def headline(plan: FleetPlan, view: View) -> str:
    """Say where the fleet's training is."""
    name = f"fleet {plan.fleet}"
    if view.fleet is None:
        return f"{name}: {describe(view.processes.get(plan.aggregator.name), view)}"
    version = _version(view.fleet.base)
    deltas = f"{view.fleet.deltas} of {view.fleet.quorum} deltas"
    troubles = {"store": view.fleet.store_error, "settings": view.fleet.settings_error}
    trouble = "".join(f", {what}: {error}" for what, error in troubles.items() if error)
    return f"{name}: round {view.fleet.round}, {version}, {deltas}{trouble}"


def judgement(plan: FleetPlan, view: View) -> str:
    """Say where the fleet's open promotion is; nothing without one."""
    engines = {worker.worker_id: worker.engine.name for worker in plan.workers}
    return promotion_line(view.fleet, engines)


def row(worker: WorkerPlan, view: View) -> tuple[str, ...]:
    """Return the cells of one worker, in the order of COLUMNS."""
    engine = describe(view.processes.get(worker.engine.name), view)
    agent = describe(view.processes.get(worker.agent.name), view)
    known = view.worker(worker.worker_id)
    if known is None:
        return (worker.name, engine, agent, *[UNKNOWN] * (len(COLUMNS) - 3))
    length = view.acceptance.get(worker.worker_id)
    trainer = known.trainer
    return (
        worker.name,
        engine,
        agent,
        short(known.observed_digest) or UNKNOWN,
        str(known.swaps),
        UNKNOWN if length is None else f"{length:.2f}",
        trainer.phase,
        f"{trainer.local_steps} ({trainer.total_steps})",
        f"{trainer.positions_per_second:.0f}",
        " ".join(f"{loss:.2f}" for loss in trainer.loss) or UNKNOWN,
    )


def status(worker: WorkerPlan, view: View) -> str:
    """Return what is known of one worker as one line."""
    name, *cells = row(worker, view)
    facts = zip(COLUMNS[1:], cells, strict=True)
    return f"{name}: " + ", ".join(f"{fact} {cell}" for fact, cell in facts if cell != UNKNOWN)


def describe(state: ProcessState | None, view: View) -> str:
    """Say what one process does; while it starts, for how long and what it logged last."""
    if state is None:
        return Phase.WAITING.value
    again = f" (start {state.starts})" if state.starts > 1 else ""
    if state.phase is Phase.STARTING:
        line = view.last_lines.get(state.name, "")[:_LONGEST_LINE]
        return f"starting, {view.now - state.since:.0f} s{again} {line}".rstrip()
    if state.phase is Phase.RESTARTING:
        return f"{state.reason}, starts again"
    if state.phase is Phase.FAILED:
        return f"failed: {state.reason}"
    return f"{state.phase}{again}"


def changes(plan: FleetPlan, before: View, after: View) -> Iterator[str]:
    """Say what became different between two views, one line each."""
    for process in plan.processes:
        old, new = before.processes.get(process.name), after.processes.get(process.name)
        if new is not None and new != old:
            yield from _process_lines(new, old, after)
    if before.fleet and after.fleet and _is_new_version(before.fleet, after.fleet):
        yield f"{_version(after.fleet.base)} is published, round {after.fleet.round} begins"
    if before.fleet and after.fleet and before.fleet.lineage_id == after.fleet.lineage_id:
        yield from promotion_changes(before.fleet, after.fleet)
    for worker in plan.workers:
        was, now = before.worker(worker.worker_id), after.worker(worker.worker_id)
        problem = "" if now is None else now.engine_problem
        if problem and (was is None or was.engine_problem != problem):
            yield f"{worker.engine.name} serves without being adapted: {problem}"
        if now is None or not now.observed_digest or now.observed_digest == LOCAL:
            continue
        if was is None or was.observed_digest != now.observed_digest:
            yield f"{worker.engine.name} serves {_serves(now, after.fleet)}"


def _is_new_version(before: FleetState, after: FleetState) -> bool:
    # The base of another lineage was published whenever that was.
    same_lineage = after.lineage_id == before.lineage_id
    return same_lineage and after.base is not None and after.base != before.base


def _process_lines(new: ProcessState, old: ProcessState | None, view: View) -> Iterator[str]:
    if new.phase is Phase.STARTING:
        yield f"{new.name}: starting (pid {new.pid}, start {new.starts})"
    elif new.phase is Phase.READY:
        seconds = 0.0 if old is None else new.since - old.since
        yield f"{new.name}: ready after {seconds:.0f} s"
    else:
        yield f"{new.name}: {describe(new, view)}"
    for line in new.tail if old is None or new.tail != old.tail else ():
        yield f"{new.name} | {line}"


def _serves(worker: WorkerState, fleet: FleetState | None) -> str:
    known = [fleet.base, fleet.stable, fleet.candidate] if fleet else []
    for version in (worker.held, *known):
        if version is not None and version.digest == worker.observed_digest:
            return _version(version)
    return short(worker.observed_digest)


def _version(version: VersionRef | None) -> str:
    if version is None:
        return "no version yet"
    return f"version {version.number} ({short(version.digest)})"
