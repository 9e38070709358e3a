"""The part of a SpeculatorFleet that says when a version becomes what the fleet serves."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final, Self

from pydantic import ConfigDict, Field, StringConstraints
from pydantic.functional_validators import model_validator

from specfleet_common.api.resource import Resource
from specfleet_common.api.rules import rule, rules
from specfleet_common.api.values import Seconds

Share = Annotated[str, StringConstraints(max_length=16, pattern=r"^[0-9]{1,2}(\.[0-9]{1,6})?%$")]
"""A percentage from 0% to below 100%, as text."""

PositiveShare = Annotated[
    str,
    StringConstraints(
        max_length=16, pattern=r"^(0\.[0-9]{0,5}[1-9][0-9]{0,5}|[1-9][0-9]?(\.[0-9]{1,6})?)%$"
    ),
]
"""A percentage above 0% and below 100%, as text."""

WASHOUT_PART: Final = 0.25
"""Of a block: what begins in it may still be of the block before."""

_ONE_PAIR = "maxSeconds has to be at least twice blockSeconds, or only one version is tried"


class Mode(StrEnum):
    """Who decides."""

    AUTOMATIC = "Automatic"
    MANUAL = "Manual"
    PAUSED = "Paused"


class Replay(Resource):
    """How candidates are compared on what was served already."""

    max_seconds: Seconds = Field(
        default=3600, description="After this long without a decision the candidate is given up."
    )
    margin: Share = Field(
        default="1%",
        description="How much worse than the drafter as shipped a candidate may be, in tokens per "
        "verification step, and in tokens per busy second on live engines.",
    )


class Canary(Resource):
    """How candidates are tried on live engines."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                # An API server asks of the default {} too, before the fields below have theirs.
                "!has(self.maxSeconds) || self.maxSeconds >= 2 * self.blockSeconds",
                _ONE_PAIR,
                field=".maxSeconds",
            )
        )
    )

    engines: Annotated[int, Field(ge=1, le=64)] = Field(
        default=1, description="Engines that run candidate and stable version in turn."
    )
    block_seconds: Annotated[int, Field(ge=2, le=3600)] = Field(
        default=30,
        description="How long an engine runs one of the two at a time; the first quarter of it is "
        "not counted.",
    )
    max_seconds: Seconds = Field(
        default=3600, description="After this long without a decision the candidate is given up."
    )
    recheck_every: Annotated[int, Field(ge=1, le=10_000)] = Field(
        default=20,
        description="After a promotion, one engine compares the stable version with the drafter as "
        "shipped, in one pair of blocks of so many; should it prove worse, it is withdrawn.",
    )

    @model_validator(mode="after")
    def _has_time_for_both(self) -> Self:
        if self.max_seconds < 2 * self.block_seconds:
            raise ValueError(_ONE_PAIR)
        return self


class Rollout(Resource):
    """How a candidate that has passed reaches all engines."""

    engines_at_once: Annotated[int, Field(ge=1, le=256)] = Field(
        default=1, description="Engines that change at a time."
    )
    pause_seconds: Annotated[int, Field(ge=0, le=86_400)] = Field(
        default=10, description="Pause after each of these changes."
    )


class Guards(Resource):
    """By how much what users feel may get worse before all engines go back."""

    tpot: PositiveShare = Field(
        default="5%", description="Mean time per output token after the first."
    )
    ttft: PositiveShare = Field(default="10%", description="Mean time to the first token.")
    errors: PositiveShare = Field(default="1%", description="Failed requests, of all requests.")


class Promotion(Resource):
    """When a version becomes what the fleet serves."""

    mode: Mode = Field(
        default=Mode.AUTOMATIC,
        description="Automatic: versions that prove to be better are rolled out. Manual: the same, "
        "but each waits for a user's approval after the canary. Paused: engines run the stable "
        "version and nothing is judged.",
    )
    pin: Annotated[int, Field(ge=0)] | None = Field(
        default=None,
        description="Number of a version that the engines run in place of the stable one; nothing "
        "is judged meanwhile. 0 is the drafter as shipped.",
    )
    minimum_gain: Share = Field(
        default="0.5%",
        description="How much better than the stable version a candidate must surely be, in tokens "
        "per verification step.",
    )
    false_promotion: PositiveShare = Field(
        default="5%",
        description="How likely it may be that any version is ever promoted that is no better, "
        "over all promotions of the fleet's drafters together.",
    )
    minimum_rounds: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        default=10, description="Rounds from one candidate to the next."
    )
    replay: Replay = Field(
        default=Replay(), description="How candidates are compared on what was served already."
    )
    canary: Canary = Field(
        default=Canary(), description="How candidates are tried on live engines."
    )
    rollout: Rollout = Field(
        default=Rollout(), description="How a candidate that has passed reaches all engines."
    )
    guards: Guards = Field(
        default=Guards(),
        description="By how much what users feel may get worse before all engines go back.",
    )
    restart_after_rejections: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=3,
        description="After so many rejected candidates in a row, training begins again from the "
        "stable version.",
    )
    history_limit: Annotated[int, Field(ge=1, le=100)] = Field(
        default=10, description="Promotions that are shown; the store keeps all."
    )


def fraction(share: str) -> float:
    """Return what a percentage is of one."""
    return float(share.removesuffix("%")) / 100
