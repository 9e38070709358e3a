"""Decides everything the operator does for one fleet: one look in, one plan out.

Pure. Gathering what is observed and carrying the plan out is `reconciling`'s work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from specfleet_operator.aggregation import aggregation, seconds_to_patience
from specfleet_operator.cohorts import Cohort, found, wished
from specfleet_operator.comparing import differs, digest
from specfleet_operator.conditions import SPEC_VALID
from specfleet_operator.deciding import decisions
from specfleet_operator.happenings import (
    Happening,
    conditions_told,
    promotions_told,
    refusals_told,
    replacements_told,
)
from specfleet_operator.judgeability import seconds_to_evidence
from specfleet_operator.judging import judge
from specfleet_operator.mirroring import mirror
from specfleet_operator.naming import AGGREGATOR, ENGINE, PROMOTION_KIND, SETTINGS_ANNOTATION
from specfleet_operator.observed import (
    Object,
    ObjectKey,
    Observed,
    OperatorFacts,
    Refusal,
    key_of,
)
from specfleet_operator.pods import Pod, pods
from specfleet_operator.reading import Problem, read
from specfleet_operator.rendering.config import SETTINGS_FILE, settings_name
from specfleet_operator.rendering.subject import Owner, Subject
from specfleet_operator.replacing import next_pods
from specfleet_operator.status import carried_over, status, transitions
from specfleet_operator.wanting import Wanted, surplus, wanted

REFUSED = "Refused"
CERTIFICATE_UNUSABLE = "CertificateUnusable"


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything the operator should now do, in the order of the fields."""

    apply: tuple[Object, ...]
    """Complete objects, in order; only those that differ from what is there."""
    statuses: tuple[Object, ...]
    """What promotions should say; only those that say something else."""
    delete: tuple[ObjectKey, ...]
    """Objects of the fleet that should not be."""
    annotate_pods: Mapping[str, Mapping[str, str]]
    """Annotations to set, by the name of the pod."""
    delete_pods: tuple[str, ...]
    """Names of pods that are replaced now."""
    status: dict[str, Any]
    """The whole new status."""
    events: tuple[Happening, ...]
    requeue_seconds: float | None = field(default=None)
    """Look again after so long although nothing was seen to change; None when there is no need."""


@dataclass(frozen=True, slots=True)
class _Actions:
    """The part of a plan that changes something besides the status."""

    apply: tuple[Object, ...] = ()
    delete: tuple[ObjectKey, ...] = ()
    annotate_pods: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    delete_pods: tuple[str, ...] = ()


def plan(observed: Observed, facts: OperatorFacts, now: float) -> Plan:
    """Compare what the user wants with what is there; `now` is the wall clock in seconds."""
    metadata, old = observed.fleet["metadata"], observed.fleet.get("status") or {}
    if "deletionTimestamp" in metadata:
        return Plan((), (), (), {}, (), dict(old), ())
    there = pods(observed.children)
    learning = aggregation(observed.aggregator, now)
    subject = read(observed.fleet, facts)
    if isinstance(subject, Problem):
        problem: Problem | None = subject
        cohorts, actions = found(observed.children, there), _Actions()
    else:
        decided = decisions(metadata["name"], observed.children, learning)
        what = wanted(subject, observed.trust, observed.children, decided)
        apply = _differing(what, observed)
        problem = _refusal(observed, apply)
        cohorts = wished(what.wishes, observed.children, there)
        actions = (
            _Actions(apply=apply)
            if problem is not None and not _is_about_leftovers(observed)
            else _actions(subject, what, observed, apply, cohorts, there)
        )
        if problem is None and observed.trust_problem:
            # What was trusted before goes on being trusted, so the rest of the spec is carried out.
            problem = Problem(CERTIFICATE_UNUSABLE, observed.trust_problem)
    verdicts = judge(
        observed.fleet,
        None if isinstance(subject, Problem) else subject,
        problem,
        cohorts=cohorts,
        pods=there,
        aggregation=learning,
        now=now,
    )
    shown = mirror(
        Owner(metadata["name"], metadata["namespace"], metadata["uid"]),
        learning,
        observed.children,
        limit=None if isinstance(subject, Problem) else subject.history_limit,
    )
    new = status(
        old,
        fleet=metadata["name"],
        generation=metadata.get("generation", 0),
        cohorts=cohorts,
        verdicts=verdicts,
        aggregation=learning,
        now=now,
    )
    return Plan(
        apply=actions.apply + shown.apply,
        statuses=shown.statuses,
        delete=actions.delete + shown.delete,
        annotate_pods=actions.annotate_pods,
        delete_pods=actions.delete_pods,
        status=new,
        events=(
            *conditions_told(transitions(old, new)),
            *replacements_told(actions.delete_pods),
            *promotions_told(observed, learning),
            *refusals_told(observed),
        ),
        requeue_seconds=min(
            (
                one
                for one in (
                    seconds_to_patience(observed.aggregator, now),
                    seconds_to_evidence(learning, now),
                )
                if one is not None
            ),
            default=None,
        ),
    )


def _actions(
    subject: Subject,
    what: Wanted,
    observed: Observed,
    apply: tuple[Object, ...],
    cohorts: Sequence[Cohort],
    there: Sequence[Pod],
) -> _Actions:
    revisions = {pod.revision for pod in there}
    return _Actions(
        apply=apply,
        delete=surplus(subject, what, observed.children, in_use=revisions),
        annotate_pods=_annotations(subject, observed, apply, there),
        delete_pods=_outdated(cohorts, there),
    )


def _differing(what: Wanted, observed: Observed) -> tuple[Object, ...]:
    known = {key_of(item): item for item in observed.children}
    return tuple(item for item in what.objects if differs(item, known.get(key_of(item))))


def _annotations(
    subject: Subject, observed: Observed, apply: Sequence[Object], there: Sequence[Pod]
) -> dict[str, dict[str, str]]:
    """Have the kubelet look at the settings again, once they are there to be seen."""
    key = ObjectKey("v1", "ConfigMap", settings_name(subject.name))
    known = next((item for item in observed.children if key_of(item) == key), None)
    if known is None or any(key_of(item) == key for item in apply):
        return {}
    mark = digest(known["data"][SETTINGS_FILE])
    return {
        pod.name: {SETTINGS_ANNOTATION: mark}
        for pod in there
        if pod.component == AGGREGATOR
        and not pod.terminating
        and pod.annotations.get(SETTINGS_ANNOTATION) != mark
    }


def _outdated(cohorts: Sequence[Cohort], there: Sequence[Pod]) -> tuple[str, ...]:
    return next_pods(
        (pod for pod in there if pod.component == ENGINE),
        revisions={cohort.name: cohort.revision for cohort in cohorts if cohort.is_current},
        replicas={cohort.name: cohort.wanted for cohort in cohorts},
    )


def _refusal(observed: Observed, apply: Sequence[Object]) -> Problem | None:
    """Return what the API server refused; it still does while there is something to apply."""
    if refused := _refused(observed):
        sentences = [f"{one.key}: {one.message}" for one in refused]
        return Problem(REFUSED, "; ".join(sentences))
    metadata, old = observed.fleet["metadata"], observed.fleet.get("status") or {}
    before = carried_over(old, SPEC_VALID, generation=metadata.get("generation", 0))
    if apply and before is not None and before.reason == REFUSED:
        # An operator that has just started has not tried yet.
        return Problem(REFUSED, before.message)
    return None


def _is_about_leftovers(observed: Observed) -> bool:
    """Say whether all that should be is there, and only what should not be cannot be removed."""
    refused = _refused(observed)
    return bool(refused) and all(one.verb != "apply" for one in refused)


def _refused(observed: Observed) -> tuple[Refusal, ...]:
    """Return what was refused of what the spec asks for: promotions only show what goes on."""
    return tuple(one for one in observed.refused if one.key.kind != PROMOTION_KIND)
