"""The aggregator's settings, read once when it starts."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
)
from pydantic.functional_validators import model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from specfleet_common.codecs.codec import Codec
from specfleet_common.store.location import DirectoryLocation, Location, S3Location

DepthWeights = Annotated[tuple[NonNegativeFloat, ...], Field(min_length=1)]
Percent = Annotated[int, Field(ge=1, le=100)]
Port = Annotated[int, Field(ge=0, le=65535)]


def _some_weight(weights: tuple[float, ...]) -> tuple[float, ...]:
    if not any(weights):
        raise ValueError(f"all depth weights are zero: {weights}, expected a positive one")
    return weights


class Settings(BaseSettings):
    """Set a field with SPECFLEET_AGGREGATOR_<FIELD>."""

    model_config = SettingsConfigDict(env_prefix="SPECFLEET_AGGREGATOR_", frozen=True)

    fleet: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]
    store_directory: Path | None = None
    store_s3: S3Location | None = None
    """A JSON object; exactly one of the two stores is given."""
    spool_directory: Path = Field(default_factory=lambda: Path(tempfile.gettempdir()))
    """Deltas of the open round and entries of an S3 store that are in use lie here, as files
    without a name that vanish with the process."""

    listen: str = "127.0.0.1:0"
    port_file: Path | None = None
    """Where to write the port that was bound."""
    metrics_port: Port | None = None
    """Serve Prometheus metrics on this port of the same host; 0 takes any."""

    quorum_minimum: PositiveInt = 1
    quorum_percent: Percent = 60
    max_round_seconds: PositiveFloat = 900.0
    lease_seconds: PositiveFloat = 120.0
    heartbeat_seconds: PositiveFloat = 5.0

    outer_learning_rate: PositiveFloat = 0.7
    outer_momentum: Annotated[float, Field(ge=0, lt=1)] = 0.9

    codec: Codec = Codec.FLOAT32
    """How workers encode their deltas; one in any other encoding is taken as well."""
    local_steps: PositiveInt = 100
    learning_rate: PositiveFloat = 1e-4
    depth_weights: Annotated[DepthWeights, AfterValidator(_some_weight)] = (1.0, 0.8, 0.64)
    dpace: bool = False
    """Weigh depths by how likely their prefix is accepted, in place of `depth_weights`."""
    rows_per_step: PositiveInt = 1024
    publish_every_steps: NonNegativeInt = 10
    """Cohorts that serve `Local` take new local weights after this many steps; 0 means never."""

    @model_validator(mode="after")
    def _has_one_store(self) -> Self:
        if (self.store_directory is None) == (self.store_s3 is None):
            given = "neither" if self.store_s3 is None else "both"
            raise ValueError(
                f"store_directory, store_s3: {given} given, expected SPECFLEET_AGGREGATOR_"
                "STORE_DIRECTORY or SPECFLEET_AGGREGATOR_STORE_S3"
            )
        return self

    @property
    def store(self) -> Location:
        """Return where the store is."""
        if self.store_directory is not None:
            return DirectoryLocation(path=self.store_directory)
        assert self.store_s3 is not None
        return self.store_s3
