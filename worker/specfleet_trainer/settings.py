"""The trainer's settings, read once from the environment."""

from __future__ import annotations

from pathlib import Path

from pydantic import NonNegativeInt, PositiveFloat, PositiveInt
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """Set a field with SPECFLEET_TRAINER_<FIELD>; what to train comes from the agent's orders."""

    model_config = SettingsConfigDict(env_prefix="SPECFLEET_TRAINER_", frozen=True)

    state_directory: Path
    """Shared with the agent: orders, report, versions, deltas, and the trainer's own state."""
    shm_directory: Path
    """Shared with the engine: the capture ring."""
    model: Path
    """Directory of the target: config.json and safetensors."""

    parent_pid: PositiveInt | None = None
    """The agent that started this process: it ends with it. Unset, whoever is the parent."""
    threads: PositiveInt = 1
    """Threads to compute with."""
    cores: frozenset[NonNegativeInt] = frozenset()
    """CPU cores to run on, as a JSON list; empty, on any."""
    seed: int = 0
    """Of the draws: which requests a step takes, which tokens it contrasts."""

    max_sequence_rows: PositiveInt = 4096
    """Longer requests are cut."""
    max_open_rows: PositiveInt = 65536
    """Rows held of requests that have not ended; each request counts as one row more."""
    max_buffer_rows: PositiveInt = 65536
    """Rows held for training."""
    max_held_out_rows: PositiveInt = 8192
    """Rows held for scoring, never trained."""
    max_genesis_rows: NonNegativeInt = 4096
    """Rows held of the first held-out conversations, so that a candidate does not forget them."""
    cohort: str = "main"
    """Names what is served here: what the first conversations are judged as."""
    max_uses: PositiveInt = 16
    """A request is trained on at most this often; then the trainer waits for new ones."""

    poll_seconds: PositiveFloat = 0.1
    """Pause while there is nothing to do."""
