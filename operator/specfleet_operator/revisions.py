"""Pod templates that stay as they were rendered until their inputs change.

Each is kept as a ControllerRevision under the digest of its inputs: what the user wrote that shapes
the pods. What the operator adds, default images and its way of rendering, is no input, so that
upgrading the operator restarts nothing. A record that was lost is found again in the StatefulSet.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from specfleet_common.api.fleet import Cohort
from specfleet_operator.comparing import digest
from specfleet_operator.naming import (
    COHORT_LABEL,
    KIND,
    REVISION_LABEL,
    TEMPLATE,
    child_name,
)
from specfleet_operator.observed import Object, ObjectKey, key_of
from specfleet_operator.rendering.subject import Json, Subject, child

CONTROLLER_REVISION = "ControllerRevision"
_LONGEST_NAME = 253


@dataclass(frozen=True, slots=True)
class Kept:
    """The template that is in force, and the object that keeps it."""

    revision: str
    template: Object
    record: Json


def engine_inputs(subject: Subject, cohort: Cohort) -> Json:
    """Return what shapes the pods of a cohort.

    Values that are the default are left out: a field that a later version adds changes nothing.
    """
    spec = subject.fleet.spec.model_dump(
        mode="json",
        by_alias=True,
        exclude_defaults=True,
        include={
            "target": True,
            "drafter": True,
            "engine": True,
            "trainer": {"capture", "threads", "resources", "image"},
        },
    )
    return {
        "fleet": [subject.namespace, subject.name],
        "cohort": [cohort.name, cohort.train, cohort.serve.value],
        "spec": _without_empty(spec),
        "render": subject.render,
    }


def aggregator_inputs(subject: Subject) -> Json:
    """Return what shapes the aggregator's pod; whom it lets watch is the operator's account."""
    spec = subject.fleet.spec.model_dump(
        mode="json",
        by_alias=True,
        exclude_defaults=True,
        include={"store": True, "engine": {"pod": {"image_pull_secrets"}}},
    )
    facts = subject.facts
    return {
        "fleet": [subject.namespace, subject.name],
        "operator": [facts.namespace, facts.service_account],
        "spec": _without_empty(spec),
        "render": subject.render,
    }


def _without_empty(spec: Json) -> Json:
    """Return the parts in which the user said something."""
    found = {
        name: _without_empty(value) if isinstance(value, dict) else value
        for name, value in spec.items()
    }
    return {name: value for name, value in found.items() if value != {}}


def keep(
    subject: Subject,
    owner: str,
    *,
    inputs: Json,
    stateful_set: ObjectKey,
    children: Iterable[Object],
    render: Callable[[], Json],
) -> Kept:
    """Return the template for these inputs: the kept one, or one that is rendered now.

    `owner` is a cohort, or `aggregator` itself, whose name no cohort has.
    """
    revision = digest(inputs)
    children = tuple(children)
    earlier = [item for item in children if is_record(item) and _owner(item) == owner]
    found = next((item for item in earlier if revision_of(item) == revision), None)
    if found is not None:
        template, number = found["data"]["template"], found["revision"]
    else:
        template = _running(children, stateful_set, revision) or _labelled(render(), revision)
        number = max((item["revision"] for item in earlier), default=0) + 1
    record = child(
        subject,
        "apps/v1",
        CONTROLLER_REVISION,
        child_name(subject.name, f"{owner}-{revision}", longest=_LONGEST_NAME),
        component=TEMPLATE,
        cohort=owner,
        body={"data": {"template": template}, "revision": number},
    )
    record["metadata"]["labels"][REVISION_LABEL] = revision
    return Kept(revision, template, record)


def is_record(item: Object) -> bool:
    """Say whether the object keeps a template of ours; StatefulSets have their own such objects."""
    owners = item["metadata"].get("ownerReferences", ())
    return item["kind"] == CONTROLLER_REVISION and any(one["kind"] == KIND for one in owners)


def revision_of(item: Object) -> str:
    """Return the digest of the inputs that a record or a pod was made from."""
    labels: Mapping[str, str] = item["metadata"].get("labels", {})
    return labels.get(REVISION_LABEL, "")


def outdated_records(
    children: Iterable[Object], kept: Mapping[str, Kept], *, in_use: Container[str]
) -> tuple[ObjectKey, ...]:
    """Return the records that neither a StatefulSet nor a pod needs any more."""
    return tuple(
        key_of(item)
        for item in children
        if is_record(item)
        and revision_of(item) not in in_use
        and (_owner(item) not in kept or kept[_owner(item)].revision != revision_of(item))
    )


def _owner(item: Object) -> str:
    """Return the cohort of a record, or `aggregator`."""
    return str(item["metadata"]["labels"].get(COHORT_LABEL, ""))


def _running(children: Iterable[Object], stateful_set: ObjectKey, revision: str) -> Any:
    for item in children:
        if key_of(item) == stateful_set:
            template = item["spec"]["template"]
            return template if revision_of(template) == revision else None
    return None


def _labelled(template: Json, revision: str) -> Json:
    metadata = template["metadata"]
    return {
        **template,
        "metadata": {**metadata, "labels": {**metadata["labels"], REVISION_LABEL: revision}},
    }
