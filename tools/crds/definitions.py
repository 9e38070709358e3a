"""The CustomResourceDefinitions of both kinds: names, columns, subresources and schemas. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, TypeAdapter

from specfleet_common.api.fleet import FleetSpec, SpeculatorFleet
from specfleet_common.api.promotion import DrafterPromotion, PromotionSpec, PromotionStatus
from specfleet_common.api.status import FleetStatus
from specfleet_common.api.values import Name
from tools.crds.structural import Schema, structural, telling_defaults

GROUP: Final = "specfleet.dev"
VERSION: Final = "v1alpha1"


@dataclass(frozen=True, slots=True)
class Column:
    """What `kubectl get` shows of an object; less important ones only with -o wide."""

    name: str
    path: str
    type: str = "string"
    description: str = ""
    wide: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the column as a CustomResourceDefinition has it."""
        column = {
            "name": self.name,
            "type": self.type,
            "jsonPath": self.path,
            "description": self.description,
        }
        return {**column, "priority": 1} if self.wide else column


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind, besides what its models say."""

    kind: str
    plural: str
    short: str
    description: str
    spec: type[BaseModel]
    status: type[BaseModel]
    columns: tuple[Column, ...]
    scale: Mapping[str, str] | None = None
    """Where the scale subresource finds replicas and selector; None: there is nothing to scale."""
    name: Schema | None = None
    """What its names have to be like, besides what Kubernetes says."""


def _condition(field: str) -> str:
    return f'.status.conditions[?(@.type=="Ready")].{field}'


AGE: Final = Column("Age", ".metadata.creationTimestamp", "date", "How long it has been there.")

FLEET: Final = Resource(
    kind="SpeculatorFleet",
    plural="speculatorfleets",
    short="sfleet",
    description=str(SpeculatorFleet.__doc__),
    spec=FleetSpec,
    status=FleetStatus,
    name=TypeAdapter(Name).json_schema(),
    columns=(
        Column("Ready", _condition("status"), description="Whether all is as the spec says."),
        Column("Reason", _condition("reason"), description="Why it is ready or not."),
        Column("Engines", ".status.engines", description="Ready and all engines."),
        Column("Drafter", ".status.drafter.stable", description="The promoted drafter."),
        Column("Accept", ".status.acceptanceLength", description="Tokens per verification step."),
        Column(
            "Promotion",
            ".status.promotion.reason",
            description="How far the candidate is, or how the last one ended.",
        ),
        Column("Round", ".status.aggregation.round", "integer", "The round that is open.", True),
        Column("Version", ".status.aggregation.version", "integer", "The newest version.", True),
        Column(
            "Training",
            ".status.aggregation.trainingWorkers",
            "integer",
            "Engines that train.",
            wide=True,
        ),
        Column("Message", _condition("message"), description="Why, in a sentence.", wide=True),
        AGE,
    ),
    scale={
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    },
)

PROMOTION: Final = Resource(
    kind="DrafterPromotion",
    plural="drafterpromotions",
    short="dpromo",
    description=str(DrafterPromotion.__doc__),
    spec=PromotionSpec,
    status=PromotionStatus,
    columns=(
        Column("Fleet", ".spec.fleet", description="The fleet."),
        Column("Version", ".spec.version", "integer", "Number of the candidate."),
        Column("Phase", ".status.phase", description="How far the judgement is."),
        Column("Outcome", ".status.outcome", description="How it ended."),
        Column(
            "Gain",
            ".status.effects[0].gainPercent",
            description="Gain over the stable version in percent.",
        ),
        Column("Decision", ".spec.decision", description="What a user decided.", wide=True),
        Column("Message", ".status.message", description="All of it in a sentence.", wide=True),
        AGE,
    ),
)

RESOURCES: Final = (FLEET, PROMOTION)


def definition(resource: Resource) -> dict[str, Any]:
    """Return the CustomResourceDefinition of a kind."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{resource.plural}.{GROUP}",
            "labels": {"app.kubernetes.io/part-of": "specfleet"},
        },
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": resource.kind,
                "listKind": f"{resource.kind}List",
                "plural": resource.plural,
                "singular": resource.kind.lower(),
                "shortNames": [resource.short],
                "categories": ["specfleet"],
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "additionalPrinterColumns": [column.to_json() for column in resource.columns],
                    "subresources": {
                        "status": {},
                        **({"scale": dict(resource.scale)} if resource.scale else {}),
                    },
                    "schema": {"openAPIV3Schema": telling_defaults(schema(resource))},
                }
            ],
        },
    }


def schema(resource: Resource) -> Schema:
    """Return the structural schema of a kind."""
    named = {} if resource.name is None else {"properties": {"name": resource.name}}
    return {
        "description": resource.description,
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"description": f"{GROUP}/{VERSION}.", "type": "string"},
            "kind": {"description": f"{resource.kind}.", "type": "string"},
            "metadata": {"type": "object", **named},
            "spec": structural(resource.spec.model_json_schema(), path="spec"),
            "status": structural(resource.status.model_json_schema(), path="status"),
        },
    }
