"""The plugin's settings, read from the environment: vLLM starts the process, not we."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from specfleet_common.shm.ring import USUAL_BYTES

PREFIX = "SPECFLEET_ENGINE_"


class SettingsError(ValueError):
    """A variable is not what it should be."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Set a field with SPECFLEET_ENGINE_<FIELD>."""

    shm_directory: Path
    """Shared memory between engine and sidecar."""
    fleet: str
    """The name of the fleet: it decides which requests are held out, on all engines alike."""
    capture: bool = True
    """Whether to record requests, 0 or 1; without, the plugin only counts and swaps."""
    follow_requests: int = 32
    """Requests recorded at once."""
    max_tokens: int = 2048
    """A request is recorded up to this length, and not at all when its prompt reaches it."""
    holdout_percent: int = 10
    """Share of the conversations that are walked for judgement and never trained on."""
    key_tokens: int = 256
    """Prompts whose first so many tokens are the same are taken for one conversation."""
    try_cuda: bool = False
    """Whether to adapt an engine on a GPU, 0 or 1: nothing of that has been run on one yet."""
    ring_bytes: int = USUAL_BYTES
    """Size of the ring in shared memory through which records go to the trainer."""


def read_settings(environment: Mapping[str, str]) -> Settings | None:
    """Return the settings, None when the engine does not belong to a fleet.

    Raises SettingsError that names the variable, what it is and what was expected.
    """
    if PREFIX + "SHM_DIRECTORY" not in environment:
        return None
    fleet = environment.get(PREFIX + "FLEET", "")
    if not fleet:
        raise SettingsError(f"{PREFIX}FLEET is not set, expected the name of the fleet")
    return Settings(
        shm_directory=Path(environment[PREFIX + "SHM_DIRECTORY"]),
        fleet=fleet,
        capture=_integer(environment, "CAPTURE", default=1, least=0, most=1) == 1,
        follow_requests=_integer(environment, "FOLLOW_REQUESTS", default=32, least=1, most=4096),
        max_tokens=_integer(environment, "MAX_TOKENS", default=2048, least=16, most=1 << 20),
        holdout_percent=_integer(environment, "HOLDOUT_PERCENT", default=10, least=0, most=90),
        key_tokens=_integer(environment, "KEY_TOKENS", default=256, least=1, most=1 << 20),
        try_cuda=_integer(environment, "TRY_CUDA", default=0, least=0, most=1) == 1,
        ring_bytes=_integer(
            environment, "RING_BYTES", default=USUAL_BYTES, least=1 << 16, most=1 << 36
        ),
    )


def _integer(
    environment: Mapping[str, str], field: str, *, default: int, least: int, most: int
) -> int:
    text = environment.get(PREFIX + field)
    if text is None:
        return default
    if not re.fullmatch(r"\d{1,12}", text) or not least <= int(text) <= most:
        raise SettingsError(
            f"{PREFIX}{field} is {text!r}, expected a whole number from {least} to {most}"
        )
    return int(text)
