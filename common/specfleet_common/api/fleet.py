"""SpeculatorFleet `specfleet.dev/v1alpha1`: what a user wants of one fleet.

camelCase in manifests, snake_case in Python; unknown fields are refused. Only what can be honoured
is here, so a field that is accepted is a field that works.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final, Literal, Self

from pydantic import ConfigDict, Field, field_validator
from pydantic.functional_validators import model_validator

from specfleet_common.api.aggregation import Aggregation
from specfleet_common.api.engine import Engine
from specfleet_common.api.networks import NetworkPolicy
from specfleet_common.api.pods import Resources
from specfleet_common.api.promoting import Promotion
from specfleet_common.api.quantities import amount, at_least
from specfleet_common.api.references import Image
from specfleet_common.api.resource import Resource
from specfleet_common.api.rules import check_told_apart, keyed_by, rule, rules
from specfleet_common.api.store import Store
from specfleet_common.api.target import Target
from specfleet_common.api.values import (
    Name,
    Namespace,
    PositiveDecimal,
    Serve,
    SmallFraction,
)

MAIN_COHORT: Final = "main"
AGENT_MEMORY: Final = "256Mi"
"""Of a trainer's memory limit, what its agent keeps for itself."""

_AGGREGATOR = "aggregator"
_SMALLEST_TRAINER = "512Mi"
_ONE_WEIGHTING = "depthWeights are for the depthWeighting Fixed, remove one of the two"

Replicas = Annotated[int, Field(ge=0, le=256)]


class Metadata(Resource):
    """What names the fleet."""

    name: Name = Field(description="Name of the fleet.")
    namespace: Namespace = Field(
        default="default", description="Namespace of the fleet; part of its keys in an S3 store."
    )
    labels: dict[str, str] = Field(default={}, description="Labels of the object in a cluster.")
    annotations: dict[str, str] = Field(
        default={}, description="Annotations of the object in a cluster."
    )


class Drafter(Resource):
    """The head that drafts for the target."""

    family: Literal["mtp"] = Field(description="How the drafter works.")
    num_speculative_tokens: Annotated[int, Field(ge=1, le=8)] = Field(
        default=3, description="Tokens drafted per step."
    )


class Cohort(Resource):
    """Engines that train and serve alike."""

    name: Name = Field(
        description=f"Name of the cohort; {MAIN_COHORT!r} is the top-level one.",
        json_schema_extra=rules(
            rule(
                f"self != '{MAIN_COHORT}'",
                f"{MAIN_COHORT!r} is the cohort of spec.replicas, choose another name",
            ),
            rule(
                f"self != '{_AGGREGATOR}'",
                f"{_AGGREGATOR!r} is the fleet's aggregator, choose another name",
            ),
        ),
    )
    replicas: Replicas = Field(default=1, description="Engines of this cohort.")
    train: bool = Field(default=False, description="Train on the traffic of these engines.")
    serve: Serve = Field(
        default=Serve.STABLE,
        description="Stock: the drafter as shipped. Stable: the promoted version. Local: the "
        "engine's own newest weights, reset by every new version.",
    )


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


class DepthWeighting(StrEnum):
    """How the losses of the drafted tokens are weighed."""

    FIXED = "Fixed"
    DPACE = "DPACE"


class Trainer(Resource):
    """How the drafter is trained beside each training engine."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "!has(self.depthWeights) || self.depthWeighting == 'Fixed'",
                _ONE_WEIGHTING,
                field=".depthWeights",
            )
        )
    )

    capture: Capture = Field(default=Capture(), description="What the engines record.")
    learning_rate: SmallFraction = Field(
        default="0.0001", description="Learning rate of the local AdamW steps, in quotes."
    )
    depth_weighting: DepthWeighting = Field(
        default=DepthWeighting.FIXED,
        description="How the losses of the drafted tokens are weighed. Fixed: by depthWeights. "
        "DPACE: by how likely the tokens before each are accepted now.",
    )
    depth_weights: Annotated[tuple[PositiveDecimal, ...], Field(max_length=8)] | None = Field(
        default=None,
        description="Weight of the loss of each drafted token, in quotes, one per speculative "
        "token; each 0.8 of the one before when absent. Only with the depthWeighting Fixed.",
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
    resources: Resources = Field(
        default=Resources(),
        description="Resources of the container of agent and trainer, in a cluster. The agent "
        f"stops a trainer that takes more memory than the limit less {AGENT_MEMORY}.",
        json_schema_extra=rules(
            rule(
                "!has(self.limits) || !('memory' in self.limits) || "
                + at_least("self.limits['memory']", _SMALLEST_TRAINER),
                f"give agent and trainer a memory limit of at least {_SMALLEST_TRAINER}, or none",
                field=".limits",
            )
        ),
    )
    image: Image | None = Field(
        default=None,
        description="Image with agent and trainer, in a cluster; the operator's when absent.",
    )

    @field_validator("resources")
    @classmethod
    def _has_memory_besides_the_agent(cls, resources: Resources) -> Resources:
        memory = resources.limits.get("memory")
        if memory is not None and amount(memory) < amount(_SMALLEST_TRAINER):
            raise ValueError(f"limits.memory is {memory}, expected at least {_SMALLEST_TRAINER}")
        return resources

    @model_validator(mode="after")
    def _weighs_in_one_way(self) -> Self:
        if self.depth_weighting == DepthWeighting.DPACE and self.depth_weights is not None:
            raise ValueError(_ONE_WEIGHTING)
        return self


class FleetSpec(Resource):
    """What the fleet should be."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "!has(self.trainer.depthWeights) || "
                "self.trainer.depthWeights.size() == self.drafter.numSpeculativeTokens",
                "give as many depthWeights as drafter.numSpeculativeTokens",
                field=".trainer.depthWeights",
            )
        )
    )

    target: Target = Field(description="The model that is served.")
    drafter: Drafter = Field(description="The head that drafts for it.")
    replicas: Replicas = Field(default=1, description=f"Engines of the cohort {MAIN_COHORT!r}.")
    serve: Serve = Field(
        default=Serve.STABLE, description=f"What the cohort {MAIN_COHORT!r} serves."
    )
    train: bool = Field(default=True, description=f"Whether the cohort {MAIN_COHORT!r} trains.")
    cohorts: Annotated[tuple[Cohort, ...], Field(max_length=16)] = Field(
        default=(), description="More cohorts.", json_schema_extra=keyed_by("name")
    )
    engine: Engine = Field(default=Engine(), description="How the engines are started.")
    trainer: Trainer = Field(default=Trainer(), description="How drafters are trained.")
    aggregation: Aggregation = Field(
        default=Aggregation(), description="How local training becomes global versions."
    )
    promotion: Promotion = Field(
        default=Promotion(), description="When a version becomes what the fleet serves."
    )
    store: Store = Field(description="Where versions and the ledger live.")
    network_policy: NetworkPolicy = Field(
        default=NetworkPolicy(), description="Who may talk with the fleet's pods, in a cluster."
    )

    @field_validator("cohorts")
    @classmethod
    def _have_names_of_their_own(cls, cohorts: tuple[Cohort, ...]) -> tuple[Cohort, ...]:
        names = [cohort.name for cohort in cohorts]
        check_told_apart(names)
        if MAIN_COHORT in names:
            raise ValueError(f"{MAIN_COHORT!r} is the top-level cohort, expected another name")
        if _AGGREGATOR in names:
            raise ValueError(f"{_AGGREGATOR!r} is the fleet's aggregator, expected another name")
        return cohorts

    @model_validator(mode="after")
    def _weighs_every_depth(self) -> Self:
        weights, depths = self.trainer.depth_weights, self.drafter.num_speculative_tokens
        if weights is not None and len(weights) != depths:
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
