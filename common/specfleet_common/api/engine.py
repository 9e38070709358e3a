"""The part of a SpeculatorFleet that says how the engines are started."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints, field_validator

from specfleet_common.api.engine_options import (
    argument_refusal,
    argument_rules,
)
from specfleet_common.api.pods import Pod, Resources
from specfleet_common.api.quantities import Quantity, amount, at_least
from specfleet_common.api.references import Image, ObjectName
from specfleet_common.api.resource import Resource
from specfleet_common.api.rules import check_told_apart, keyed_by, rule, rules
from specfleet_common.api.variables import EngineVariable

EngineArgument = Annotated[
    str,
    StringConstraints(min_length=1, max_length=4096),
    Field(json_schema_extra=rules(*argument_rules())),
]

_SMALLEST_SHARED_MEMORY = "192Mi"
"""Twice the ring, because an engine that starts again finds the one before it, and weights."""
_ROOM_NEEDED = f"expected at least {_SMALLEST_SHARED_MEMORY} for captured tokens and weights"


class ClaimReference(Resource):
    """A volume of the cluster."""

    claim_name: ObjectName = Field(
        description="Name of the PersistentVolumeClaim, in the namespace of the fleet; one that "
        "can be written from every node that may run an engine."
    )


class CacheVolume(Resource):
    """What keeps compiled kernels longer than a pod lives."""

    persistent_volume_claim: ClaimReference = Field(
        description="A volume of the cluster, in which every engine gets a directory of its own."
    )


class Engine(Resource):
    """How the engines are started."""

    image: Image | None = Field(
        default=None,
        description="Image with vLLM, in a cluster; the operator's default when absent. The "
        "plugin is added when the pod starts.",
    )
    args: Annotated[tuple[EngineArgument, ...], Field(max_length=128)] = Field(
        default=(), description="More arguments of vLLM's OpenAI server, one per item."
    )
    env: Annotated[tuple[EngineVariable, ...], Field(max_length=128)] = Field(
        default=(),
        description="Environment variables of the engine.",
        json_schema_extra=keyed_by("name"),
    )
    resources: Resources = Field(
        default=Resources(), description="Resources of the engine's container, in a cluster."
    )
    shared_memory: Quantity = Field(
        default="1Gi",
        description="Size of the pod's /dev/shm, through which engine and agent exchange captured "
        "tokens and weights; what is used of it counts as memory of the pod. In a cluster.",
        json_schema_extra=rules(rule(at_least("self", _SMALLEST_SHARED_MEMORY), _ROOM_NEEDED)),
    )
    drain_seconds: Annotated[int, Field(ge=0, le=86_400)] = Field(
        default=300,
        description="How long an engine that has to go may finish the requests it has, in a "
        "cluster. It goes sooner when none is left.",
    )
    cache_volume: CacheVolume | None = Field(
        default=None,
        description="What keeps the kernels that an engine compiled, in a cluster, so that the "
        "pod that replaces it starts sooner; they go with the pod when absent.",
    )
    pod: Pod = Field(default=Pod(), description="What else the engines' pods have, in a cluster.")

    @field_validator("args")
    @classmethod
    def _are_the_users(cls, args: tuple[str, ...]) -> tuple[str, ...]:
        for argument in args:
            if refusal := argument_refusal(argument):
                raise ValueError(refusal)
        return args

    @field_validator("env")
    @classmethod
    def _are_told_apart(cls, env: tuple[EngineVariable, ...]) -> tuple[EngineVariable, ...]:
        check_told_apart(variable.name for variable in env)
        return env

    @field_validator("shared_memory")
    @classmethod
    def _has_room(cls, quantity: str) -> str:
        if amount(quantity) < amount(_SMALLEST_SHARED_MEMORY):
            raise ValueError(f"is {quantity}, {_ROOM_NEEDED}")
        return quantity
