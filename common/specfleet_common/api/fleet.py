"""SpeculatorFleet `specfleet.dev/v1alpha1`: what a user wants of one fleet.

camelCase in manifests, snake_case in Python; unknown fields are refused. Only what can be honoured
is here, so a field that is accepted is a field that works.
"""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Literal, Self

from pydantic import Discriminator, Field, StringConstraints, Tag, field_validator
from pydantic.functional_validators import model_validator

from specfleet_common.api.engine_options import argument_refusal, variable_refusal
from specfleet_common.api.resource import Resource
from specfleet_common.api.store import Store
from specfleet_common.api.values import (
    Fraction,
    Name,
    Percent,
    PositiveDecimal,
    Seconds,
    Serve,
    SmallFraction,
    Text,
)
from specfleet_common.codecs.codec import Codec

MAIN_COHORT = "main"

Replicas = Annotated[int, Field(ge=0, le=256)]


class Metadata(Resource):
    """What names the fleet."""

    name: Name = Field(description="Name of the fleet.")
    namespace: Name = Field(
        default="default", description="Namespace of the fleet; part of its keys in an S3 store."
    )


class Target(Resource):
    """The model that is served."""

    model: Text = Field(
        description="Directory with config.json, tokenizer and safetensors files of the model; "
        "relative to the manifest."
    )
    served_model_name: Text | None = Field(
        default=None, description="Model name in the API; the fleet's name when absent."
    )
    max_model_len: Annotated[int, Field(ge=16, le=1 << 24)] | None = Field(
        default=None, description="Longest prompt plus output in tokens; the model's when absent."
    )
    dtype: Literal["float32", "bfloat16"] | None = Field(
        default=None, description="Type of the weights while serving; the model's when absent."
    )


class Drafter(Resource):
    """The head that drafts for the target."""

    family: Literal["mtp"] = Field(description="How the drafter works.")
    num_speculative_tokens: Annotated[int, Field(ge=1, le=8)] = Field(
        default=3, description="Tokens drafted per step."
    )


class Cohort(Resource):
    """Engines that train and serve alike."""

    name: Name = Field(description=f"Name of the cohort; {MAIN_COHORT!r} is the top-level one.")
    replicas: Replicas = Field(default=1, description="Engines of this cohort.")
    train: bool = Field(default=False, description="Train on the traffic of these engines.")
    serve: Serve = Field(
        default=Serve.STABLE,
        description="Stock: the drafter as shipped. Stable: the promoted version. Local: the "
        "engine's own newest weights, reset by every new version.",
    )


class EngineVariable(Resource):
    """One environment variable of the engine."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] = Field(
        description="Name of the variable."
    )
    value: str = Field(description="Value of the variable.")

    @field_validator("name")
    @classmethod
    def _is_the_users(cls, name: str) -> str:
        if refusal := variable_refusal(name):
            raise ValueError(refusal)
        return name


EngineArgument = Annotated[str, StringConstraints(min_length=1, max_length=65_536)]


class Engine(Resource):
    """How the engines are started."""

    args: tuple[EngineArgument, ...] = Field(
        default=(), description="More arguments of vLLM's OpenAI server, one per item."
    )
    env: tuple[EngineVariable, ...] = Field(
        default=(), description="Environment variables of the engine."
    )

    @field_validator("args")
    @classmethod
    def _are_the_users(cls, args: tuple[str, ...]) -> tuple[str, ...]:
        for argument in args:
            if refusal := argument_refusal(argument):
                raise ValueError(refusal)
        return args


class Capture(Resource):
    """What the engines record for training."""

    follow_requests: Annotated[int, Field(ge=1, le=4096)] = Field(
        default=32, description="Requests that are followed at once."
    )
    max_tokens: Annotated[int, Field(ge=16, le=1 << 20)] = Field(
        default=2048, description="Tokens recorded of one request, prompt and output together."
    )
    key_tokens: Annotated[int, Field(ge=1, le=1_048_576)] = Field(
        default=256,
        description="Prompts whose first so many tokens are the same count as one conversation, "
        "which is held out or trained on as a whole. More than a common system prompt has.",
    )
    holdout_percent: Annotated[int, Field(ge=0, le=90)] = Field(
        default=10, description="Share of conversations that is measured and never trained on."
    )


# Tags in angle brackets are left out of messages.
DepthWeights = Annotated[
    Annotated[Literal["DPACE"], Tag("<word>")]
    | Annotated[tuple[PositiveDecimal, ...], Tag("<list>")],
    Discriminator(lambda value: "<word>" if isinstance(value, str) else "<list>"),
]


class Trainer(Resource):
    """How the drafter is trained beside each training engine."""

    capture: Capture = Field(default=Capture(), description="What the engines record.")
    learning_rate: SmallFraction = Field(
        default="0.0001", description="Learning rate of the local AdamW steps, in quotes."
    )
    depth_weights: DepthWeights | None = Field(
        default=None,
        description="Weight of the loss of each drafted token, in quotes, one per speculative "
        "token; each 0.8 of the one before when absent. DPACE: by how likely the tokens before "
        "it are accepted now.",
    )
    rows_per_step: Annotated[int, Field(ge=1, le=1 << 20)] = Field(
        default=1024, description="Tokens in one training step."
    )
    publish_every_steps: Annotated[int, Field(ge=0, le=1_000_000)] = Field(
        default=10,
        description="Steps between two deliveries of local weights to engines that serve Local; "
        "0 is never.",
    )
    threads: Annotated[int, Field(ge=1, le=1024)] = Field(
        default=1, description="CPU threads of each trainer."
    )


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
    outer: Outer = Field(default=Outer(), description="The step from one version to the next.")
    codec: Codec = Field(
        default=Codec.FLOAT32,
        description="How workers send what they have learned. Float32: as it is, 4 bytes per "
        "weight. BFloat16: about 1.4. Int8: about 1. Ternary: about 0.15; what it rounds away is "
        "sent with the next round.",
    )


class FleetSpec(Resource):
    """What the fleet should be."""

    target: Target = Field(description="The model that is served.")
    drafter: Drafter = Field(description="The head that drafts for it.")
    replicas: Replicas = Field(default=1, description=f"Engines of the cohort {MAIN_COHORT!r}.")
    serve: Serve = Field(
        default=Serve.STABLE, description=f"What the cohort {MAIN_COHORT!r} serves."
    )
    train: bool = Field(default=True, description=f"Whether the cohort {MAIN_COHORT!r} trains.")
    cohorts: tuple[Cohort, ...] = Field(default=(), description="More cohorts.")
    engine: Engine = Field(default=Engine(), description="How the engines are started.")
    trainer: Trainer = Field(default=Trainer(), description="How drafters are trained.")
    aggregation: Aggregation = Field(
        default=Aggregation(), description="How local training becomes global versions."
    )
    store: Store = Field(description="Where versions and the ledger live.")

    @field_validator("cohorts")
    @classmethod
    def _have_names_of_their_own(cls, cohorts: tuple[Cohort, ...]) -> tuple[Cohort, ...]:
        counts = Counter(cohort.name for cohort in cohorts)
        counts[MAIN_COHORT] += 1
        for name, count in counts.items():
            if count > 1 and name == MAIN_COHORT:
                raise ValueError(f"{name!r} is the top-level cohort, expected another name")
            if count > 1:
                raise ValueError(f"{count} cohorts are named {name!r}, expected different names")
        return cohorts

    @model_validator(mode="after")
    def _weighs_every_depth(self) -> Self:
        weights, depths = self.trainer.depth_weights, self.drafter.num_speculative_tokens
        if isinstance(weights, tuple) and len(weights) != depths:
            raise ValueError(
                f"trainer.depthWeights has {len(weights)} weights, "
                f"expected {depths} as in drafter.numSpeculativeTokens"
            )
        return self

    @property
    def all_cohorts(self) -> tuple[Cohort, ...]:
        """Return every cohort, `main` first."""
        main = Cohort.model_construct(
            name=MAIN_COHORT, replicas=self.replicas, train=self.train, serve=self.serve
        )
        return (main, *self.cohorts)


class SpeculatorFleet(Resource):
    """A fleet of engines whose drafter adapts to the traffic they serve."""

    api_version: Literal["specfleet.dev/v1alpha1"] = Field(description="Version of this schema.")
    kind: Literal["SpeculatorFleet"] = Field(description="Kind of this resource.")
    metadata: Metadata = Field(description="What names the fleet.")
    spec: FleetSpec = Field(description="What the fleet should be.")

    @property
    def served_model_name(self) -> str:
        """Return the model name clients use."""
        return self.spec.target.served_model_name or self.metadata.name
