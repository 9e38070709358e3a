"""The agent's settings, read once from the environment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt
from pydantic.functional_validators import model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from specfleet_agent.situation import Serve
from specfleet_common.wire.access import stays_here

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]
Address = Annotated[str, Field(pattern=r"^\S+:\d{1,5}$")]


class Settings(BaseSettings):
    """Set a field with SPECFLEET_AGENT_<FIELD>; lists are JSON."""

    model_config = SettingsConfigDict(env_prefix="SPECFLEET_AGENT_", frozen=True)

    aggregator: Address
    """The aggregator's host:port."""
    ca_file: Path | None = None
    """Certificates, as PEM, one of which has signed the aggregator's; unset, no encryption."""
    token_file: Path | None = None
    """What proves to the aggregator who calls; both files are read again for every call."""
    worker_id: Name
    """Stays the same when the agent restarts: the pod's UID, or a random id of a local engine."""
    cohort: Name = "main"
    """The cohort of the engine."""
    train: bool = True
    """Whether to train and to send deltas."""
    serve: Serve = Serve.STABLE
    """Which weights the engine gets."""

    state_directory: Path
    """The pod's own volume: versions, deltas, the trainer's state. Created if it is missing."""
    shm_directory: Path
    """Shared memory between engine and sidecar."""
    model: Path
    """Directory of the target: config.json and safetensors."""

    http_host: str = "127.0.0.1"
    """Where the health and metrics pages listen."""
    http_port: Annotated[int, Field(ge=0, le=65535)] = 0
    """0 takes any free port."""
    port_file: Path | None = None
    """Gets the bound HTTP port."""

    trainer_command: tuple[str, ...] = ()
    """Empty runs `python -m specfleet_trainer` with the agent's own Python."""
    trainer_threads: PositiveInt = 1
    """Threads the trainer computes with."""
    trainer_cores: frozenset[NonNegativeInt] = frozenset()
    """CPU cores the trainer runs on; empty, on any."""
    trainer_memory_bytes: PositiveInt | None = None
    """The trainer is killed above this much memory of its own, and when its container comes close
    to its limit; unset, nobody watches."""
    engine_silence_seconds: PositiveFloat = 30.0
    """The engine counts as gone, and its lease ends, when its page has not changed for so long."""
    trainer_silence_seconds: PositiveFloat = 120.0
    """The trainer counts as hanging when its report has not changed for so long."""

    @model_validator(mode="after")
    def _keeps_its_token_secret(self) -> Self:
        if self.token_file is not None and self.ca_file is None and not stays_here(self.aggregator):
            raise ValueError(
                f"aggregator: is {self.aggregator}, to which the token would go unencrypted, "
                "expected SPECFLEET_AGENT_CA_FILE or an address of this machine"
            )
        return self
