"""What holds of a fleet and what does not, each with one word and one sentence for a person.

Ready sums the others up: everything runs as the spec says now, as far as can be seen. One that does
not apply is absent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from specfleet_common.lineage import MISMATCH
from specfleet_common.wire.messages import WorkerState
from specfleet_operator.aggregation import Aggregation
from specfleet_operator.cohorts import Cohort
from specfleet_operator.pods import Pod, Trouble
from specfleet_operator.reading import Problem
from specfleet_operator.timestamps import timestamp

READY, SPEC_VALID, SERVING = "Ready", "SpecValid", "Serving"
TRAINING, AGGREGATING = "Training", "Aggregating"

Status = Literal["True", "False", "Unknown"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a condition holds, and why."""

    status: Status
    reason: str
    message: str


def spec_valid(problem: Problem | None) -> Verdict:
    """Judge the spec: `problem` is what is wrong with it, or what the API server refused."""
    if problem is not None:
        return Verdict("False", problem.reason, problem.message)
    return Verdict("True", "Valid", "The spec can be carried out.")


def serving(cohorts: Sequence[Cohort]) -> Verdict:
    """Judge whether requests are answered; one ready engine is enough for that."""
    wanted = sum(cohort.wanted for cohort in cohorts)
    ready = sum(cohort.ready for cohort in cohorts)
    if ready == wanted > 0:
        return Verdict("True", "EnginesReady", f"{_all(wanted)} ready.")
    trouble = _trouble(cohorts)
    if ready > 0:
        known = f" {trouble.message}" if trouble is not None else ""
        return Verdict("True", "SomeEnginesReady", f"{ready} of {wanted} engines are ready.{known}")
    if wanted == 0:
        return Verdict("False", "ScaledToZero", "All cohorts have 0 replicas.")
    return trouble or _missing(cohorts) or _starting(cohorts)


def training(
    cohorts: Sequence[Cohort], aggregation: Aggregation, *, wanted: int | None
) -> Verdict | None:
    """Judge the trainers; `wanted` is how many there should be, None when the spec says nothing.

    None when there is nothing to judge.
    """
    if wanted == 0 or (wanted is None and not aggregation.training_workers):
        return None
    if (unknown := unheard(aggregation, "trainers")) is not None:
        return unknown
    workers = [worker for worker in aggregation.workers if worker.live and worker.trains]
    if not workers:
        return Verdict("False", "NoTrainerLive", "No training engine has a lease yet.")
    if broken := _not_adapted(workers, cohorts):
        return broken
    names = pod_names(cohorts)
    parked = [w.worker_id for w in workers if w.trainer.phase == "parked"]
    if parked:
        return Verdict(
            "False",
            "TrainerParked",
            f"The trainer of {listed(names.get(worker, worker) for worker in parked)} failed too"
            " often and is tried again every 5 minutes; the agent's log says why.",
        )
    if wanted is not None and len(workers) < wanted:
        return Verdict(
            "True", "SomeTrainersLive", f"{len(workers)} of {wanted} trainers have a lease."
        )
    return Verdict("True", "TrainersLive", f"{_all(len(workers), 'trainer')} live.")


def aggregating(
    pod: Pod | None, aggregation: Aggregation, *, training: int | None, minimum: int | None
) -> Verdict:
    """Judge the way from deltas to versions.

    `training` engines are wanted and `minimum` deltas close a round; None where the spec says
    nothing.
    """
    if pod is not None and not pod.ready and pod.trouble is not None:
        return _pod_trouble(pod, pod.trouble)
    if not aggregation.is_known:
        return Verdict("Unknown", "NotConnected", "The aggregator has not been heard of yet.")
    if not aggregation.is_reachable:
        if pod is not None and not pod.ready:
            message = f"The pod {pod.name} is not ready; until it is, nothing is learned or judged."
            return Verdict("False", "AggregatorNotReady", message)
        since = timestamp(aggregation.since)
        return Verdict(
            "False",
            "AggregatorUnreachable",
            _sentence(f"The aggregator cannot be reached since {since}: {aggregation.error}"),
        )
    if aggregation.store_error:
        return Verdict(
            "False",
            "StoreUnreachable",
            _sentence(f"The store takes no new version: {aggregation.store_error}"),
        )
    if aggregation.settings_error:
        return Verdict("False", "SettingsRefused", _sentence(aggregation.settings_error))
    if training and minimum is not None and training < minimum:
        return Verdict(
            "False",
            "QuorumUnreachable",
            f"A round needs {minimum} deltas by spec.aggregation.quorum.minimum, and the cohorts"
            f" that train have {_counted(training)}.",
        )
    if training == 0:
        return Verdict("True", "Idle", "No engine trains; the stable version stays.")
    return Verdict("True", "RoundOpen", "The engines' deltas become versions.")


def unheard(aggregation: Aggregation, subject: str) -> Verdict | None:
    """Return what is said of what only the aggregator knows, None while it can be reached."""
    if not aggregation.is_known:
        return Verdict("Unknown", "NotConnected", "The aggregator has not been heard of yet.")
    if not aggregation.is_reachable:
        return Verdict(
            "Unknown",
            "AggregatorUnreachable",
            f"Nothing is known of the {subject} while the aggregator cannot be reached.",
        )
    return None


def ready(
    verdicts: Mapping[str, Verdict],
    cohorts: Sequence[Cohort],
    aggregation: Aggregation,
    *,
    generation: int,
) -> Verdict:
    """Sum up; the first thing that is not as it should be is the reason."""
    spec = verdicts[SPEC_VALID]
    if spec.status != "True":
        return Verdict("False", spec.reason, spec.message)
    if not any(cohort.wanted for cohort in cohorts):
        return Verdict("False", "ScaledToZero", "All cohorts have 0 replicas.")
    unfinished = _trouble(cohorts) or _missing(cohorts) or _replacing(cohorts) or _changing(cohorts)
    if unfinished is not None:
        return unfinished
    if any(cohort.ready < cohort.wanted for cohort in cohorts):
        return _starting(cohorts)
    wrong = [w.worker_id for w in aggregation.workers if w.live and w.observed_digest == MISMATCH]
    if wrong:
        names = pod_names(cohorts)
        return Verdict(
            "False",
            "DigestMismatch",
            f"The drafter in {listed(names.get(worker, worker) for worker in wrong)} is not the"
            " one that was put there.",
        )
    if broken := _not_adapted([w for w in aggregation.workers if w.live], cohorts):
        return broken
    for condition in (AGGREGATING, TRAINING):
        verdict = verdicts.get(condition)
        if verdict is not None and verdict.status != "True":
            return Verdict("False", verdict.reason, verdict.message)
    if aggregation.is_known and aggregation.settings_generation < generation:
        return Verdict(
            "False",
            "SettingsPending",
            "The aggregator does not have the learning settings of this spec yet.",
        )
    wanted = sum(cohort.wanted for cohort in cohorts)
    return Verdict("True", "AsSpecified", f"{_all(wanted)} ready and as the spec says.")


def _trouble(cohorts: Sequence[Cohort]) -> Verdict | None:
    for cohort in cohorts:
        for pod in cohort.pods:
            if not pod.ready and pod.trouble is not None:
                return _pod_trouble(pod, pod.trouble)
    return None


def _pod_trouble(pod: Pod, trouble: Trouble) -> Verdict:
    return Verdict("False", trouble.reason, _sentence(f"{pod.name}: {trouble.message}"))


def _not_adapted(workers: Sequence[WorkerState], cohorts: Sequence[Cohort]) -> Verdict | None:
    """Return what is said of engines that serve as if they were in no fleet, None without any."""
    broken = [worker for worker in workers if worker.engine_problem]
    if not broken:
        return None
    names = pod_names(cohorts)
    named = sorted((names.get(one.worker_id, one.worker_id), one.engine_problem) for one in broken)
    first, problem = named[0]
    return Verdict(
        "False",
        "EngineNotAdapted",
        _sentence(
            f"{listed(name for name, _ in named)} {'serves' if len(named) == 1 else 'serve'}"
            f" without learning and without new drafters; {first} says: {problem}"
        ),
    )


def _missing(cohorts: Sequence[Cohort]) -> Verdict | None:
    missing = [cohort for cohort in cohorts if len(cohort.pods) < cohort.wanted]
    if not missing:
        return None
    cohort = missing[0]
    return Verdict(
        "False",
        "PodsMissing",
        f"{len(cohort.pods)} of {cohort.wanted} pods of the cohort {cohort.name!r} exist; if it"
        " stays so, the events of its StatefulSet say why.",
    )


def _replacing(cohorts: Sequence[Cohort]) -> Verdict | None:
    total = sum(len(cohort.pods) for cohort in cohorts)
    updated = sum(cohort.updated for cohort in cohorts)
    if updated == total:
        return None
    return Verdict(
        "False",
        "Replacing",
        f"{updated} of {total} engines run what the spec says now; the others are replaced one by"
        f" one{_waiting(cohorts)}.",
    )


def _changing(cohorts: Sequence[Cohort]) -> Verdict | None:
    if all(cohort.is_current for cohort in cohorts):
        return None
    return Verdict("False", "Changing", "The new spec is being carried out.")


def _starting(cohorts: Sequence[Cohort]) -> Verdict:
    wanted = sum(cohort.wanted for cohort in cohorts)
    ready = sum(cohort.ready for cohort in cohorts)
    return Verdict(
        "False", "Starting", f"{ready} of {wanted} engines are ready{_waiting(cohorts)}."
    )


def _waiting(cohorts: Sequence[Cohort]) -> str:
    names = [pod.name for cohort in cohorts for pod in cohort.pods if not pod.ready]
    return f", waiting for {listed(names)}" if names else ""


def pod_names(cohorts: Sequence[Cohort]) -> dict[str, str]:
    """Return names by UID, which is what a worker calls itself."""
    return {pod.uid: pod.name for cohort in cohorts for pod in cohort.pods}


_MOST_NAMES = 3


def listed(names: Iterable[str]) -> str:
    """Return some names for a sentence, and how many more there are."""
    given = sorted(names)
    more = len(given) - _MOST_NAMES
    return ", ".join(given[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _counted(number: int, noun: str = "engine") -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _all(number: int, noun: str = "engine") -> str:
    """Return the beginning of a sentence about all of them, up to its verb."""
    return f"The {noun} is" if number == 1 else f"All {number} {noun}s are"
