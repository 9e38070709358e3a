"""Judges a whole fleet: which conditions apply, and what each says."""

from __future__ import annotations

from collections.abc import Sequence

from specfleet_operator.aggregation import Aggregation
from specfleet_operator.break_even import SPECULATION_PAYS, speculation_pays
from specfleet_operator.cohorts import Cohort
from specfleet_operator.conditions import (
    AGGREGATING,
    READY,
    SERVING,
    SPEC_VALID,
    TRAINING,
    Verdict,
    aggregating,
    ready,
    serving,
    spec_valid,
    training,
)
from specfleet_operator.judgeability import JUDGEABLE, judgeable
from specfleet_operator.naming import AGGREGATOR
from specfleet_operator.observed import Object
from specfleet_operator.pods import Pod
from specfleet_operator.reading import Problem
from specfleet_operator.rendering.subject import Subject
from specfleet_operator.status import carried_over


def judge(
    fleet: Object,
    subject: Subject | None,
    problem: Problem | None,
    *,
    cohorts: Sequence[Cohort],
    pods: Sequence[Pod],
    aggregation: Aggregation,
    now: float,
) -> dict[str, Verdict]:
    """Return the conditions that apply; `subject` is None when the spec says nothing usable."""
    generation, old = fleet["metadata"].get("generation", 0), fleet.get("status") or {}
    num_training, minimum = _learning(subject)
    others = {
        SPEC_VALID: spec_valid(problem),
        SERVING: serving(cohorts),
        TRAINING: training(cohorts, aggregation, wanted=num_training),
        AGGREGATING: aggregating(
            _aggregator(pods), aggregation, training=num_training, minimum=minimum
        ),
        JUDGEABLE: judgeable(None if subject is None else subject.fleet.spec, aggregation, now),
        SPECULATION_PAYS: speculation_pays(
            cohorts, aggregation, before=carried_over(old, SPECULATION_PAYS, generation=generation)
        ),
    }
    found = {kind: verdict for kind, verdict in others.items() if verdict is not None}
    if not aggregation.is_known:
        # An operator that has just started knows no better than the one before it.
        for kind in (TRAINING, AGGREGATING, JUDGEABLE, SPECULATION_PAYS):
            known = carried_over(old, kind, generation=generation)
            if known is not None and kind in found and found[kind].status == "Unknown":
                found[kind] = known
    return {READY: ready(found, cohorts, aggregation, generation=generation), **found}


def _learning(subject: Subject | None) -> tuple[int | None, int | None]:
    """Return how many engines should train, and how many deltas close a round at least."""
    if subject is None:
        return None, None
    spec = subject.fleet.spec
    num_training = sum(cohort.replicas for cohort in spec.all_cohorts if cohort.train)
    return num_training, spec.aggregation.quorum.minimum


def _aggregator(pods: Sequence[Pod]) -> Pod | None:
    return next((p for p in pods if p.component == AGGREGATOR and not p.terminating), None)
