"""The aggregator's settings, read once when it starts."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

from pydantic import (
    AfterValidator,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
)
from pydantic_settings import BaseSettings, SettingsConfigDict

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
    store_directory: Path
    spool_directory: Path = Field(default_factory=lambda: Path(tempfile.gettempdir()))
    """Deltas of the open round lie here, as files without a name that vanish with the process."""

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

    local_steps: PositiveInt = 100
    learning_rate: PositiveFloat = 1e-4
    depth_weights: Annotated[DepthWeights, AfterValidator(_some_weight)] = (1.0, 0.8, 0.64)
    rows_per_step: PositiveInt = 1024
    publish_every_steps: NonNegativeInt = 10
    """Cohorts that serve `Local` take new local weights after this many steps; 0 means never."""
