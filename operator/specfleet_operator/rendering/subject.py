"""What every object of a fleet is rendered from, and what all of them have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from specfleet_common.api.fleet import SpeculatorFleet
from specfleet_operator.naming import (
    API_VERSION,
    COHORT_LABEL,
    COMPONENT_LABEL,
    FIELD_MANAGER,
    FLEET_LABEL,
    KIND,
)
from specfleet_operator.observed import OperatorFacts

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Subject:
    """A fleet whose spec is right, as one object in one cluster."""

    fleet: SpeculatorFleet
    uid: str
    generation: int
    render: str
    """The value of the fleet's annotation that asks for pods to be rendered again."""
    facts: OperatorFacts

    @property
    def name(self) -> str:
        """Return the name of the fleet."""
        return self.fleet.metadata.name

    @property
    def namespace(self) -> str:
        """Return the namespace of the fleet and of everything that belongs to it."""
        return self.fleet.metadata.namespace

    @property
    def history_limit(self) -> int:
        """Return how many promotions are shown."""
        return self.fleet.spec.promotion.history_limit


@dataclass(frozen=True, slots=True)
class Owner:
    """The fleet that an object belongs to, whatever its spec says."""

    name: str
    namespace: str
    uid: str


def labels(fleet: str, component: str, cohort: str | None = None) -> dict[str, str]:
    """Return the labels of an object of the fleet."""
    return {
        "app.kubernetes.io/name": "specfleet",
        "app.kubernetes.io/instance": fleet,
        COMPONENT_LABEL: component,
        "app.kubernetes.io/managed-by": FIELD_MANAGER,
        "app.kubernetes.io/part-of": "specfleet",
        FLEET_LABEL: fleet,
        **({} if cohort is None else {COHORT_LABEL: cohort}),
    }


def selector(fleet: str, component: str, cohort: str | None = None) -> dict[str, str]:
    """Return the labels by which the fleet's pods of a component or a cohort are found."""
    return {
        FLEET_LABEL: fleet,
        COMPONENT_LABEL: component,
        **({} if cohort is None else {COHORT_LABEL: cohort}),
    }


def child(
    subject: Subject,
    api_version: str,
    kind: str,
    name: str,
    *,
    component: str,
    cohort: str | None = None,
    body: Mapping[str, Any],
) -> Json:
    """Return an object of the fleet, as `owned` does."""
    owner = Owner(subject.name, subject.namespace, subject.uid)
    return owned(owner, api_version, kind, name, component=component, cohort=cohort, body=body)


def owned(
    owner: Owner,
    api_version: str,
    kind: str,
    name: str,
    *,
    component: str,
    cohort: str | None = None,
    body: Mapping[str, Any],
) -> Json:
    """Return an object that belongs to the fleet and goes with it.

    Deleting the fleet does not wait for the object to be gone.
    """
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": owner.namespace,
            "labels": labels(owner.name, component, cohort),
            "ownerReferences": [
                {
                    "apiVersion": API_VERSION,
                    "kind": KIND,
                    "name": owner.name,
                    "uid": owner.uid,
                    "controller": True,
                    "blockOwnerDeletion": False,
                }
            ],
        },
        **body,
    }
