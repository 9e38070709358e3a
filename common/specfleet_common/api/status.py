"""What the operator reports about a SpeculatorFleet: small, and changed only when it has to be."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from specfleet_common.api.promotion import Phase
from specfleet_common.api.resource import Resource
from specfleet_common.api.rules import keyed_by
from specfleet_common.api.values import Count, LineageId, Name, Sentence, Timestamp

Reason = Annotated[
    str,
    StringConstraints(max_length=1024, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"),
]
ConditionType = Annotated[str, StringConstraints(max_length=63, pattern=r"^[A-Z][A-Za-z0-9]*$")]
ShortVersion = Annotated[str, StringConstraints(max_length=64)]
"""Number and first characters of the digest, or `stock`."""

AcceptanceLength = Annotated[str, StringConstraints(max_length=16)]
Loss = Annotated[str, StringConstraints(max_length=16)]


class ConditionStatus(StrEnum):
    """Whether a condition holds."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Condition(Resource):
    """One thing that does or does not hold, with the reason."""

    type: ConditionType = Field(description="What the condition is about.")
    status: ConditionStatus = Field(description="Whether it holds.")
    observed_generation: Count | None = Field(
        default=None, description="Generation of the spec that this was judged by."
    )
    last_transition_time: Timestamp = Field(description="When the status last changed.")
    reason: Reason = Field(description="Why, in one word.")
    message: Sentence = Field(description="Why, in a sentence.")


Conditions = Annotated[
    tuple[Condition, ...],
    Field(
        max_length=16,
        json_schema_extra=keyed_by("type"),
    ),
]


class CohortStatus(Resource):
    """Counts of one cohort."""

    name: Name = Field(description="Name of the cohort.")
    replicas: Count = Field(description="Engines that there are.")
    ready_replicas: Count = Field(description="Engines that are ready.")
    updated_replicas: Count = Field(description="Engines that run what the spec says now.")
    adapted_replicas: Count | None = Field(
        default=None,
        description="Engines whose agents hold a lease and can bring new drafters to them.",
    )
    drafter: ShortVersion | None = Field(
        default=None,
        description="What most of these run: number and short digest of a version, or stock, "
        "local, mismatch.",
    )
    acceptance_length: AcceptanceLength | None = Field(
        default=None,
        description="Tokens per verification step with the drafters that run now; a change of "
        "less than 0.05 is not shown.",
    )


Cohorts = Annotated[
    tuple[CohortStatus, ...],
    Field(
        max_length=32,
        json_schema_extra=keyed_by("name"),
    ),
]


class DrafterStatus(Resource):
    """Which drafters the fleet has."""

    stable: ShortVersion | None = Field(
        default=None, description="The promoted version: number and short digest, or stock."
    )
    candidate: ShortVersion | None = Field(
        default=None, description="The version under judgement: number and short digest."
    )
    lineage: LineageId | None = Field(
        default=None, description="What all versions have in common: target, family and shapes."
    )


class AggregationStatus(Resource):
    """How far learning is."""

    round: Count = Field(description="The round that is open.")
    version: Count = Field(description="Number of the newest version.")
    live_workers: Count = Field(description="Engines whose agents hold a lease.")
    training_workers: Count = Field(description="Those of them that train.")
    losses: Annotated[tuple[Loss, ...], Field(max_length=8)] | None = Field(
        default=None,
        description="Loss of each drafted token, the mean over the trainers; changes of less than "
        "5 % are not shown.",
    )


class CurrentPromotion(Resource):
    """The promotion that is open, or the last one."""

    name: Annotated[str, StringConstraints(max_length=63)] = Field(
        description="Name of its DrafterPromotion."
    )
    phase: Phase = Field(description="How far it is.")
    reason: Reason = Field(
        description="In one word: its phase while it is open, or WaitsForApproval; its outcome "
        "once it is Done."
    )


class FleetStatus(Resource):
    """What the operator saw last."""

    observed_generation: Count | None = Field(
        default=None, description="Generation of the spec that this status is about."
    )
    conditions: Conditions = Field(
        default=(),
        description="What does and does not hold. Ready sums up the others: SpecValid, Serving, "
        "Training, Aggregating. Judgeable says whether candidates can be judged, and "
        "SpeculationPays whether engines are faster with drafts than they would be without; these "
        "do not count for Ready. One that does not apply is absent.",
    )
    replicas: Count | None = Field(default=None, description="Engines of the cohort 'main'.")
    ready_replicas: Count | None = Field(
        default=None, description="Engines of the cohort 'main' that are ready."
    )
    selector: Annotated[str, StringConstraints(max_length=1024)] | None = Field(
        default=None,
        description="Labels of the pods of the cohort 'main', for autoscalers.",
    )
    engines: Annotated[str, StringConstraints(max_length=32)] | None = Field(
        default=None, description="Ready and all engines of all cohorts, such as 3/4."
    )
    cohorts: Cohorts = Field(default=(), description="Counts of every cohort.")
    drafter: DrafterStatus | None = Field(default=None, description="Which drafters the fleet has.")
    aggregation: AggregationStatus | None = Field(default=None, description="How far learning is.")
    promotion: CurrentPromotion | None = Field(
        default=None, description="The promotion that is open, or the last one."
    )
    acceptance_length: AcceptanceLength | None = Field(
        default=None,
        description="Tokens per verification step with the drafters that run now; a change of "
        "less than 0.05 is not shown.",
    )
