"""What an agent is told: its environment."""

from __future__ import annotations

from specfleet_common.api.fleet import Cohort, SpeculatorFleet
from specfleet_common.commands.environment import prefixed, word

MODULE = "specfleet_agent"


def agent_environment(
    fleet: SpeculatorFleet,
    cohort: Cohort,
    *,
    aggregator: str,
    model: str,
    state_directory: str,
    shm_directory: str,
    http_port: int,
) -> dict[str, str]:
    """Return what is the same on every substrate; who the worker is comes on top."""
    settings = {
        "AGGREGATOR": aggregator,
        "COHORT": cohort.name,
        "TRAIN": word(cohort.train),
        "SERVE": cohort.serve.value,
        "STATE_DIRECTORY": state_directory,
        "SHM_DIRECTORY": shm_directory,
        "MODEL": model,
        "HTTP_PORT": str(http_port),
        "TRAINER_THREADS": str(fleet.spec.trainer.threads),
    }
    return prefixed("SPECFLEET_AGENT_", settings)
