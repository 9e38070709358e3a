"""Foresees what becomes of a fleet's objects and pods when its spec changes. Pure.

The spec that is there and the one that is wanted are rendered alike, so that nothing shows up as a
change but what the change brings about. What only the operator has, keys and certificates, and its
own record of pod templates are left out: neither follows from the spec alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from specfleet_operator.aggregation import aggregation
from specfleet_operator.deciding import decisions
from specfleet_operator.naming import (
    AGGREGATOR,
    APPLIED_ANNOTATION,
    ENGINE,
    aggregator_name,
    engines_name,
)
from specfleet_operator.observed import Object, ObjectKey, OperatorFacts, Trust, key_of
from specfleet_operator.pods import Pod, pods
from specfleet_operator.reading import Problem, read
from specfleet_operator.rendering.config import trust_name
from specfleet_operator.rendering.subject import Json, Subject
from specfleet_operator.revisions import CONTROLLER_REVISION, Kept
from specfleet_operator.wanting import Wanted, wanted

Fate = Literal["created", "replaced", "removed"]

_SOME_TRUST = Trust("", "", "", "", 0.0, "", "")


@dataclass(frozen=True, slots=True)
class ChangedObject:
    """An object as it is rendered now and then; None when it is not there."""

    key: ObjectKey
    before: Object | None
    after: Object | None


@dataclass(frozen=True, slots=True)
class ChangedPod:
    """What becomes of a pod."""

    name: str
    fate: Fate


@dataclass(frozen=True, slots=True)
class Foresight:
    """Everything that a new spec would change, besides what is under way without it."""

    objects: tuple[ChangedObject, ...]
    pods: tuple[ChangedPod, ...]


def foresee(
    before: Object | None, after: Object, children: Collection[Object], facts: OperatorFacts
) -> Foresight | Problem:
    """Compare a fleet with what it would be; `before` is None when it would be created.

    `children` are the fleet's own. A Problem is why the operator would not carry the spec out.
    """
    subject = read(after, facts)
    if isinstance(subject, Problem):
        return subject
    there = [pod for pod in pods(children) if not pod.terminating]
    what = _wanted(subject, children)
    new, coming = _shown(what, subject), _pods(subject, what.kept, there)
    now = None if before is None else read(before, facts)
    if isinstance(now, Subject):
        what_now = _wanted(now, children)
        old, under_way = _shown(what_now, now), _pods(now, what_now.kept, there)
    else:
        # What runs is of an earlier spec, which nobody has: the objects themselves have to do.
        found = {key_of(item): item for item in children}
        old = {key: _part(item, found[key]) for key, item in new.items() if key in found}
        under_way = ()
    return Foresight(
        objects=tuple(
            ChangedObject(key, old.get(key), new.get(key))
            for key in dict.fromkeys((*new, *old))
            if old.get(key) != new.get(key)
        ),
        pods=tuple(one for one in coming if one not in under_way),
    )


def _wanted(subject: Subject, children: Collection[Object]) -> Wanted:
    decided = decisions(subject.name, children, aggregation(None, 0.0))
    return wanted(subject, _SOME_TRUST, children, decided)


def _shown(what: Wanted, subject: Subject) -> dict[ObjectKey, Json]:
    hidden = ObjectKey("v1", "ConfigMap", trust_name(subject.name))
    return {
        key: _readable(item)
        for item in what.objects
        if (key := key_of(item)) != hidden and key.kind not in ("Secret", CONTROLLER_REVISION)
    }


def _readable(item: Json) -> Json:
    """Return the object without what tells a person nothing."""
    metadata = {
        name: value for name, value in item["metadata"].items() if name != "ownerReferences"
    }
    annotations = {
        name: value
        for name, value in metadata.pop("annotations", {}).items()
        if name != APPLIED_ANNOTATION
    }
    if annotations:
        metadata["annotations"] = annotations
    return {**item, "metadata": metadata}


def _part(wanted: Any, found: Any) -> Any:
    """Return of what is there that which is also said by `wanted`."""
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        return {name: _part(wanted[name], found[name]) for name in wanted if name in found}
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        return [_part(one, other) for one, other in zip(wanted, found, strict=True)]
    return found


def _pods(
    subject: Subject, kept: Mapping[str, Kept], there: Collection[Pod]
) -> tuple[ChangedPod, ...]:
    known = {pod.name: pod for pod in there}
    expected = dict(_expected(subject, kept))
    found = [
        ChangedPod(name, "created" if name not in known else "replaced")
        for name, revision in expected.items()
        if name not in known or known[name].revision != revision
    ]
    gone = [
        ChangedPod(name, "removed")
        for name, pod in known.items()
        if name not in expected and pod.component in (ENGINE, AGGREGATOR)
    ]
    return (*found, *gone)


def _expected(subject: Subject, kept: Mapping[str, Kept]) -> Iterator[tuple[str, str]]:
    """Return the pods that there should be, each with the revision of its template."""
    yield f"{aggregator_name(subject.name)}-0", kept[AGGREGATOR].revision
    for cohort in subject.fleet.spec.all_cohorts:
        for ordinal in range(cohort.replicas):
            name = f"{engines_name(subject.name, cohort.name)}-{ordinal}"
            yield name, kept[cohort.name].revision
