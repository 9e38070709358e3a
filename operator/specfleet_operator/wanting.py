"""What a fleet should consist of now, given what it consists of: templates in force are kept."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from specfleet_common.api.promotion import Decision
from specfleet_operator.cohorts import Wish
from specfleet_operator.comparing import stamped
from specfleet_operator.naming import AGGREGATOR, aggregator_name, engines_name
from specfleet_operator.observed import Object, ObjectKey, Trust, key_of
from specfleet_operator.rendering.aggregator_pod import aggregator_template
from specfleet_operator.rendering.engine_pod import engine_template
from specfleet_operator.rendering.fleet import running, surroundings
from specfleet_operator.rendering.subject import Json, Subject
from specfleet_operator.revisions import (
    Kept,
    aggregator_inputs,
    engine_inputs,
    keep,
    outdated_records,
)

_RENDERED_KINDS = frozenset(
    {
        "ConfigMap",
        "NetworkPolicy",
        "PodDisruptionBudget",
        "PodMonitor",
        "Secret",
        "Service",
        "ServiceAccount",
        "StatefulSet",
    }
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Everything that should be there, in the order in which it is applied."""

    objects: tuple[Json, ...]
    is_complete: bool
    """False while there is nothing to trust yet: what runs is left as it is."""
    kept: Mapping[str, Kept]
    """The template in force of every cohort and of the aggregator."""
    wishes: Mapping[str, Wish]


def wanted(
    subject: Subject,
    trust: Trust | None,
    children: Collection[Object],
    decisions: Mapping[str, Decision],
) -> Wanted:
    """Return what the fleet should consist of; `decisions` are those of users on promotions."""
    kept = {AGGREGATOR: _aggregator(subject, children), **_engines(subject, children)}
    objects = surroundings(subject, decisions)
    if trust is not None:
        objects += running(subject, trust, kept)
    return Wanted(
        objects=tuple(stamped(item) for item in objects),
        is_complete=trust is not None,
        kept=kept,
        wishes={
            cohort.name: Wish(cohort.replicas, kept[cohort.name].revision)
            for cohort in subject.fleet.spec.all_cohorts
        },
    )


def surplus(
    subject: Subject, what: Wanted, children: Iterable[Object], *, in_use: Collection[str]
) -> tuple[ObjectKey, ...]:
    """Return what belongs to the fleet and should not be; `in_use` has the revisions of pods."""
    if not what.is_complete:
        return ()
    expected = {key_of(item) for item in what.objects}
    children = [item for item in children if _belongs_to(item, subject.uid)]
    others = tuple(
        key_of(item)
        for item in children
        if item["kind"] in _RENDERED_KINDS and key_of(item) not in expected
    )
    return others + outdated_records(children, what.kept, in_use=in_use)


def _aggregator(subject: Subject, children: Collection[Object]) -> Kept:
    return keep(
        subject,
        AGGREGATOR,
        inputs=aggregator_inputs(subject),
        stateful_set=_stateful_set(aggregator_name(subject.name)),
        children=children,
        render=lambda: aggregator_template(subject),
    )


def _engines(subject: Subject, children: Collection[Object]) -> dict[str, Kept]:
    kept = {}
    for cohort in subject.fleet.spec.all_cohorts:
        kept[cohort.name] = keep(
            subject,
            cohort.name,
            inputs=engine_inputs(subject, cohort),
            stateful_set=_stateful_set(engines_name(subject.name, cohort.name)),
            children=children,
            render=partial(engine_template, subject, cohort),
        )
    return kept


def _stateful_set(name: str) -> ObjectKey:
    return ObjectKey("apps/v1", "StatefulSet", name)


def _belongs_to(item: Object, uid: str) -> bool:
    owners = item["metadata"].get("ownerReferences", ())
    return any(owner["uid"] == uid and owner.get("controller") for owner in owners)
