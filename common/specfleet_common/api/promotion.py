"""DrafterPromotion `specfleet.dev/v1alpha1`: how one candidate is judged, and a user's say in it.

The object mirrors what the fleet decides. Evidence and decisions live in the store and outlive it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StringConstraints

from specfleet_common.api.resource import Resource
from specfleet_common.api.rules import keyed_by, rule, rules
from specfleet_common.api.status import Count, LineageId, Sentence, Timestamp
from specfleet_common.api.values import Name

Digest = Annotated[str, StringConstraints(max_length=64, pattern=r"^[0-9a-f]{64}$")]
SignedDecimal = Annotated[
    str, StringConstraints(max_length=32, pattern=r"^-?[0-9]{1,12}(\.[0-9]{1,12})?$")
]


def _unchangeable(name: str) -> dict[str, Any]:
    return rules(
        rule(
            "self == oldSelf",
            f"{name} cannot be changed, a promotion is about one version; only decision can",
        )
    )


class Decision(StrEnum):
    """What a user decides about a candidate."""

    APPROVE = "Approve"
    ABORT = "Abort"


class Phase(StrEnum):
    """How far the judgement is."""

    PENDING = "Pending"
    REPLAY = "Replay"
    CANARY = "Canary"
    ROLLING = "Rolling"
    DONE = "Done"


class Outcome(StrEnum):
    """How the judgement ended."""

    PROMOTED = "Promoted"
    REJECTED = "Rejected"
    ROLLED_BACK = "RolledBack"
    INCONCLUSIVE = "Inconclusive"
    SUPERSEDED = "Superseded"
    ABORTED = "Aborted"


class PromotionSpec(Resource):
    """Which version is judged, and what a user decides about it."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "!has(oldSelf.decision) || oldSelf.decision != 'Abort' || "
                "(has(self.decision) && self.decision == 'Abort')",
                "Abort is final; a later version gets a promotion of its own",
                field=".decision",
            )
        )
    )

    fleet: Name = Field(
        description="Name of the SpeculatorFleet, in the same namespace.",
        json_schema_extra=_unchangeable("fleet"),
    )
    lineage: LineageId = Field(
        description="What the fleet's versions have in common: target, family and shapes.",
        json_schema_extra=_unchangeable("lineage"),
    )
    version: Annotated[int, Field(ge=1)] = Field(
        description="Number of the candidate.", json_schema_extra=_unchangeable("version")
    )
    digest: Digest = Field(
        description="Digest of the candidate.", json_schema_extra=_unchangeable("digest")
    )
    decision: Decision | None = Field(
        default=None,
        description="What a user decides. Approve: go on where the fleet waits for a user. Abort: "
        "end it and keep the stable version, for good.",
    )


class Arm(Resource):
    """What was measured of one drafter."""

    name: Literal["Candidate", "Stable", "Stock"] = Field(description="Which drafter.")
    requests: Count = Field(description="Requests that count.")
    tokens_per_step: SignedDecimal | None = Field(
        default=None, description="Tokens per verification step."
    )


class Guard(Resource):
    """One thing that must not get worse."""

    name: Literal["tpot", "ttft", "errors"] = Field(description="What is guarded.")
    passed: bool = Field(description="Whether it stayed within its bound.")
    message: Annotated[str, StringConstraints(max_length=1024)] = Field(
        description="What was measured, and the bound."
    )


class Summary(Resource):
    """What was measured, in short."""

    arms: Annotated[
        tuple[Arm, ...],
        Field(
            max_length=3,
            json_schema_extra=keyed_by("name"),
        ),
    ] = Field(default=(), description="What was measured of each drafter.")
    gain_percent: SignedDecimal | None = Field(
        default=None, description="How much better the candidate is than the stable version."
    )
    lower_percent: SignedDecimal | None = Field(
        default=None, description="Lower end of the gain's confidence sequence."
    )
    upper_percent: SignedDecimal | None = Field(
        default=None, description="Upper end of the gain's confidence sequence."
    )
    guards: Annotated[
        tuple[Guard, ...],
        Field(
            max_length=3,
            json_schema_extra=keyed_by("name"),
        ),
    ] = Field(default=(), description="What must not get worse.")


class PromotionStatus(Resource):
    """What the fleet has found and decided."""

    observed_generation: Count | None = Field(
        default=None, description="Generation of the spec that this status is about."
    )
    phase: Phase | None = Field(default=None, description="How far the judgement is.")
    outcome: Outcome | None = Field(default=None, description="How it ended, once it is Done.")
    summary: Summary | None = Field(default=None, description="What was measured, in short.")
    evidence_digest: Digest | None = Field(
        default=None, description="Digest of the evidence in the store."
    )
    engines: Count | None = Field(default=None, description="Engines of the fleet.")
    candidate_engines: Count | None = Field(
        default=None, description="Engines that were seen to serve the candidate."
    )
    started_at: Timestamp | None = Field(default=None, description="When the judgement began.")
    finished_at: Timestamp | None = Field(default=None, description="When it ended.")
    message: Sentence | None = Field(default=None, description="All of it in a sentence.")


class DrafterPromotion(Resource):
    """The judgement of one candidate: does it become the fleet's drafter?"""

    spec: PromotionSpec = Field(description="Which version is judged, and a user's decision.")
    status: PromotionStatus | None = Field(
        default=None, description="What the fleet has found and decided."
    )
