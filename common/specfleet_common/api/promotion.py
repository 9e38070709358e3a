"""DrafterPromotion `specfleet.dev/v1alpha1`: how one candidate is judged, and a user's say in it.

The object mirrors what the fleet decides. Evidence and decisions live in the store and outlive it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field, StringConstraints

from specfleet_common.api.resource import Resource
from specfleet_common.api.rules import rule, rules
from specfleet_common.api.values import Count, LineageId, Name, Sentence, Timestamp

LONGEST_NAME: Final = 256
LONGEST_SENTENCE: Final = 2048
MOST_EFFECTS: Final = 64
MOST_BREACHES: Final = 16

_ID_DIGITS = 12

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


class Effect(Resource):
    """By how much one drafter exceeds another in one measure."""

    name: Annotated[str, StringConstraints(max_length=LONGEST_NAME)] = Field(
        description="Which drafter exceeds which, and where."
    )
    measure: Annotated[str, StringConstraints(max_length=LONGEST_NAME)] = Field(
        description="What it has more of, such as tokens per verify step."
    )
    gain_percent: SignedDecimal | None = Field(
        default=None, description="By how much; absent while nothing is known."
    )
    lower_percent: SignedDecimal | None = Field(
        default=None,
        description="Lower end of the gain's confidence sequence; absent while there is none.",
    )
    upper_percent: SignedDecimal | None = Field(
        default=None,
        description="Upper end of the gain's confidence sequence; absent while there is none.",
    )
    records: Count = Field(description="Requests, or blocks of live traffic, that count.")
    clusters: Count = Field(
        description="Conversations, or pairs of blocks, that these are of: as many independent "
        "observations there are at most."
    )


class PromotionStatus(Resource):
    """What the fleet has found and decided."""

    observed_generation: Count | None = Field(
        default=None, description="Generation of the spec that this status is about."
    )
    phase: Phase | None = Field(default=None, description="How far the judgement is.")
    outcome: Outcome | None = Field(default=None, description="How it ended, once it is Done.")
    waits_for_approval: bool | None = Field(
        default=None, description="Whether it goes on only with the decision Approve."
    )
    effects: Annotated[tuple[Effect, ...], Field(max_length=MOST_EFFECTS)] = Field(
        default=(),
        description="What was measured last, the gain of the candidate over the stable version "
        "first.",
    )
    breaches: Annotated[
        tuple[Annotated[str, StringConstraints(max_length=LONGEST_SENTENCE)], ...],
        Field(max_length=MOST_BREACHES),
    ] = Field(default=(), description="Guards that do not hold, one sentence for each.")
    breached_guards: Annotated[
        tuple[Annotated[str, StringConstraints(max_length=LONGEST_NAME)], ...],
        Field(max_length=MOST_BREACHES),
    ] = Field(
        default=(),
        description="The same guards as spec.promotion.guards of the fleet names them, and "
        "preemptions.",
    )
    evidence_digest: Digest | None = Field(
        default=None, description="Digest of the evidence in the store."
    )
    engines: Count | None = Field(
        default=None, description="Live engines that serve what is stable, while it is open."
    )
    candidate_engines: Count | None = Field(
        default=None, description="Those of them that were seen to run the candidate."
    )
    started_at: Timestamp | None = Field(default=None, description="When it was opened.")
    finished_at: Timestamp | None = Field(default=None, description="When it ended.")
    message: Sentence | None = Field(default=None, description="All of it in a sentence.")


class DrafterPromotion(Resource):
    """The judgement of one candidate: does it become the fleet's drafter?"""

    spec: PromotionSpec = Field(description="Which version is judged, and a user's decision.")
    status: PromotionStatus | None = Field(
        default=None, description="What the fleet has found and decided."
    )


def promotion_id(number: int, digest: str) -> str:
    """Return what names the promotion of a version in the ledger, in settings and in paths."""
    return f"{number}-{digest[:_ID_DIGITS]}"
