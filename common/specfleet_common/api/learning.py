"""What may change while a fleet learns: the file that tells the aggregator, and how it is made.

In Kubernetes the file is `settings.json` of a ConfigMap; a local run writes it into its directory.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, ValidationError
from pydantic.functional_validators import AfterValidator

from specfleet_common.api.fleet import DepthWeighting, SpeculatorFleet
from specfleet_common.api.resource import Resource
from specfleet_common.codecs.codec import Codec
from specfleet_common.diloco.rule import Rule

HEARTBEAT_SECONDS: Final = 1.0
DEPTH_DECAY: Final = 0.8

MAX_FILE_BYTES: Final = 1 << 16

Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def _some_weight(weights: tuple[float, ...]) -> tuple[float, ...]:
    if not any(weights):
        raise ValueError(f"all depth weights are zero: {weights}, expected a positive one")
    return weights


class SettingsError(ValueError):
    """A settings file is not one; the message says what is wrong with it."""


class LearningSettings(Resource):
    """Read strictly from JSON in camelCase; `generation` orders the files of one fleet."""

    schema_version: Literal[1] = Field(description="Version of this schema.")
    fleet_uid: Annotated[str, Field(min_length=1, max_length=128)] = Field(
        description="Identity of the fleet; one that is created again has another."
    )
    generation: Annotated[int, Field(ge=0)] = Field(
        description="Generation of the spec that this was made from."
    )

    local_steps: Count = Field(description="Training steps of a worker in one round.")
    quorum_minimum: Count = Field(description="Deltas that a round always needs.")
    quorum_percent: Annotated[int, Field(ge=1, le=100)] = Field(
        description="Share of live training workers that a round waits for."
    )
    max_round_seconds: Positive = Field(
        description="After this long the minimum of the quorum is enough."
    )
    lease_seconds: Positive = Field(description="Silence after which a worker counts as gone.")
    heartbeat_seconds: Positive = Field(description="Pause between two reports of a worker.")
    combine: Rule = Field(default=Rule.MEAN, description="How the deltas of a round become one.")
    outer_learning_rate: Positive = Field(description="Learning rate of the outer step.")
    outer_momentum: Annotated[float, Field(ge=0, lt=1)] = Field(
        description="Momentum of the outer step."
    )
    codec: Codec = Field(
        description="How workers encode their deltas; one in any other encoding is taken as well."
    )
    learning_rate: Positive = Field(description="Learning rate of the local steps.")
    depth_weights: Annotated[
        tuple[NotNegative, ...], Field(min_length=1), AfterValidator(_some_weight)
    ] = Field(description="Weight of the loss of every drafted token.")
    dpace: bool = Field(
        description="Weigh depths by how likely their prefix is accepted, not by depthWeights."
    )
    rows_per_step: Count = Field(description="Tokens in one training step.")
    publish_every_steps: Annotated[int, Field(ge=0)] = Field(
        description="Steps between two deliveries of local weights to engines that serve Local; "
        "0 is never."
    )

    def to_json(self) -> str:
        """Return the file.

        Fields that came later have a default and are left out while they have it, because an
        aggregator of an older version refuses what it does not know.
        """
        return self.model_dump_json(by_alias=True, indent=2, exclude_defaults=True) + "\n"


def parse_settings(data: bytes) -> LearningSettings:
    """Return what a file says; SettingsError when it is not what `to_json` writes."""
    if len(data) > MAX_FILE_BYTES:
        raise SettingsError(f"has {len(data)} bytes, expected at most {MAX_FILE_BYTES}")
    try:
        return LearningSettings.model_validate_json(data)
    except ValidationError as error:
        mistakes = (
            f"{'.'.join(map(str, mistake['loc'])) or 'file'}: {mistake['msg']}"
            for mistake in error.errors(include_url=False, include_context=False)
        )
        raise SettingsError("; ".join(mistakes)) from error


def learning_settings(fleet: SpeculatorFleet, *, uid: str, generation: int) -> LearningSettings:
    """Return what the spec says about learning."""
    aggregation, trainer = fleet.spec.aggregation, fleet.spec.trainer
    return LearningSettings.model_validate(
        {
            "schemaVersion": 1,
            "fleetUid": uid,
            "generation": generation,
            "localSteps": aggregation.local_steps,
            "quorumMinimum": aggregation.quorum.minimum,
            "quorumPercent": aggregation.quorum.percent,
            "maxRoundSeconds": aggregation.max_round_seconds,
            "leaseSeconds": aggregation.lease_seconds,
            "heartbeatSeconds": HEARTBEAT_SECONDS,
            "combine": aggregation.combine,
            "outerLearningRate": float(aggregation.outer.learning_rate),
            "outerMomentum": float(aggregation.outer.momentum),
            "codec": aggregation.codec,
            "learningRate": float(trainer.learning_rate),
            "depthWeights": depth_weights(fleet),
            "dpace": trainer.depth_weighting == DepthWeighting.DPACE,
            "rowsPerStep": trainer.rows_per_step,
            "publishEverySteps": trainer.publish_every_steps,
        }
    )


def depth_weights(fleet: SpeculatorFleet) -> tuple[float, ...]:
    """Return the weight of the loss of every drafted token; D-PACE needs their number only."""
    weights = fleet.spec.trainer.depth_weights
    if weights is not None:
        return tuple(float(weight) for weight in weights)
    depths = fleet.spec.drafter.num_speculative_tokens
    return tuple(round(DEPTH_DECAY**depth, 6) for depth in range(depths))
