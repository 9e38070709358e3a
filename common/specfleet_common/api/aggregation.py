"""The part of a SpeculatorFleet that says how local training becomes global versions."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from specfleet_common.api.references import SecretReference
from specfleet_common.api.resource import Resource
from specfleet_common.api.values import Fraction, Percent, PositiveDecimal, Seconds
from specfleet_common.codecs.codec import Codec
from specfleet_common.diloco.rule import Rule


class Quorum(Resource):
    """How many deltas close a round."""

    minimum: Annotated[int, Field(ge=1, le=256)] = Field(
        default=1, description="Deltas that a round always needs."
    )
    percent: Percent = Field(
        default=60, description="Share of live training workers that a round waits for."
    )


class Outer(Resource):
    """The outer Nesterov step; learning rate 1 and momentum 0 is federated averaging."""

    learning_rate: PositiveDecimal = Field(
        default="0.7", description="Outer learning rate, in quotes."
    )
    momentum: Fraction = Field(default="0.9", description="Outer momentum, in quotes.")


class Aggregation(Resource):
    """How local training becomes global versions."""

    local_steps: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        default=100, description="Training steps of a worker in one round."
    )
    quorum: Quorum = Field(default=Quorum(), description="When a round may close.")
    lease_seconds: Seconds = Field(
        default=120, description="Silence after which a worker counts as gone."
    )
    max_round_seconds: Seconds = Field(
        default=900, description="After this long the minimum of the quorum is enough."
    )
    combine: Rule = Field(
        default=Rule.MEAN,
        description="How the deltas of a round become one, weight by weight. Mean: every worker "
        "counts alike. CoordinateMedian: less than half of the workers may send anything. "
        "TrimmedMean: a fifth of them may (of three or four, one), and the others count alike; "
        "left out are deltas longer than twice the round's median, then the largest and smallest "
        "values of every weight. Of one or two deltas, each makes the mean.",
    )
    outer: Outer = Field(default=Outer(), description="The step from one version to the next.")
    tls_secret_ref: SecretReference | None = Field(
        default=None,
        description="Secret with the aggregator's certificate and key and the certificates to "
        "trust, as PEM: tls.crt, tls.key and ca.crt. A new one is taken up without a restart. The "
        "operator's own authority when absent. In a cluster.",
    )
    codec: Codec = Field(
        default=Codec.FLOAT32,
        description="How workers send what they have learned. Float32: as it is, 4 bytes per "
        "weight. BFloat16: about 1.4. Int8: about 1. Ternary: about 0.15; what it rounds away is "
        "sent with the next round.",
    )
