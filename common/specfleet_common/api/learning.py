"""What may change while a fleet learns: the file that tells the aggregator, and how it is made.

In Kubernetes the file is `settings.json` of a ConfigMap; a local run writes it into its directory.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final, Literal, Self

from pydantic import Field, ValidationError
from pydantic.functional_validators import AfterValidator, model_validator

from specfleet_common.api.fleet import DepthWeighting, SpeculatorFleet
from specfleet_common.api.promoting import WASHOUT_PART, Mode, fraction
from specfleet_common.api.promotion import Decision
from specfleet_common.api.resource import Resource
from specfleet_common.codecs.codec import Codec
from specfleet_common.diloco.rule import Rule
from specfleet_common.mistakes import summary

HEARTBEAT_SECONDS: Final = 1.0
DEPTH_DECAY: Final = 0.8

MAX_FILE_BYTES: Final = 1 << 16
MAX_DECISIONS: Final = 256

Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def _some_weight(weights: tuple[float, ...]) -> tuple[float, ...]:
    if not any(weights):
        raise ValueError(f"all depth weights are zero: {weights}, expected a positive one")
    return weights


class SettingsError(ValueError):
    """A settings file is not one; the message says what is wrong with it."""


Part = Annotated[float, Field(ge=0, lt=1)]
PositivePart = Annotated[float, Field(gt=0, lt=1)]
PromotionId = Annotated[str, Field(pattern=r"^[0-9]{1,12}-[0-9a-f]{12}$")]


class PromotionSettings(Resource):
    """How candidates are judged and rolled out; shares are fractions."""

    mode: Mode = Field(default=Mode.AUTOMATIC, description="Who decides.")
    pin: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="The version to run in place of the stable one."
    )
    minimum_gain: Part = Field(default=0.005, description="Over stable.")
    margin: Part = Field(default=0.01, description="What may be lost against stock.")
    false_promotion: PositivePart = Field(default=0.05, description="Over a lineage's life.")
    minimum_rounds: Count = Field(default=10, description="From one candidate to the next.")
    replay_seconds: Positive = Field(default=3600.0, description="How long a replay may take.")
    canary_engines: Count = Field(default=1, description="Engines that compare live.")
    block_seconds: Positive = Field(default=30.0, description="One block of a switchback.")
    washout_seconds: NotNegative = Field(default=7.5, description="Its part that does not count.")
    canary_seconds: Positive = Field(default=3600.0, description="How long a canary may take.")
    recheck_every: Count = Field(
        default=20, description="One pair of blocks in so many compares stable with stock."
    )
    engines_at_once: Count = Field(default=1, description="Engines that change at a time.")
    pause_seconds: NotNegative = Field(default=10.0, description="Between two changes.")
    tpot: PositivePart = Field(default=0.05, description="Allowed rise, relative.")
    ttft: PositivePart = Field(default=0.1, description="Allowed rise, relative.")
    errors: PositivePart = Field(default=0.01, description="Allowed rise, per request.")
    restart_after_rejections: Count = Field(default=3, description="Rejections in a row.")
    history_limit: Count = Field(default=10, description="Promotions that watchers see.")

    @model_validator(mode="after")
    def _counts_some_part_of_a_block(self) -> Self:
        if self.washout_seconds >= self.block_seconds:
            raise ValueError(
                f"washoutSeconds: is {self.washout_seconds}, expected less than "
                f"blockSeconds, which is {self.block_seconds}"
            )
        return self


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
    promotion: PromotionSettings = Field(
        default=PromotionSettings(), description="How candidates are judged and rolled out."
    )
    decisions: Annotated[dict[PromotionId, Decision], Field(max_length=MAX_DECISIONS)] = Field(
        default={}, description="What users have decided about promotions."
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
        raise SettingsError(summary(error)) from error


def learning_settings(
    fleet: SpeculatorFleet,
    *,
    uid: str,
    generation: int,
    decisions: Mapping[str, Decision] = MappingProxyType({}),
) -> LearningSettings:
    """Return what the spec says about learning, and users about promotions."""
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
            "promotion": _promotion(fleet),
            "decisions": dict(sorted(decisions.items())),
        }
    )


def _promotion(fleet: SpeculatorFleet) -> dict[str, object]:
    promotion = fleet.spec.promotion
    block_seconds = float(promotion.canary.block_seconds)
    return {
        "mode": promotion.mode,
        "pin": promotion.pin,
        "minimumGain": fraction(promotion.minimum_gain),
        "margin": fraction(promotion.replay.margin),
        "falsePromotion": fraction(promotion.false_promotion),
        "minimumRounds": promotion.minimum_rounds,
        "replaySeconds": promotion.replay.max_seconds,
        "canaryEngines": promotion.canary.engines,
        "blockSeconds": block_seconds,
        "washoutSeconds": WASHOUT_PART * block_seconds,
        "canarySeconds": promotion.canary.max_seconds,
        "recheckEvery": promotion.canary.recheck_every,
        "enginesAtOnce": promotion.rollout.engines_at_once,
        "pauseSeconds": promotion.rollout.pause_seconds,
        "tpot": fraction(promotion.guards.tpot),
        "ttft": fraction(promotion.guards.ttft),
        "errors": fraction(promotion.guards.errors),
        "restartAfterRejections": promotion.restart_after_rejections,
        "historyLimit": promotion.history_limit,
    }


def depth_weights(fleet: SpeculatorFleet) -> tuple[float, ...]:
    """Return the weight of the loss of every drafted token; D-PACE needs their number only."""
    weights = fleet.spec.trainer.depth_weights
    if weights is not None:
        return tuple(float(weight) for weight in weights)
    depths = fleet.spec.drafter.num_speculative_tokens
    return tuple(round(DEPTH_DECAY**depth, 6) for depth in range(depths))
