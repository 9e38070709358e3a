"""Wrong settings end the agent before anything has begun, and are named."""

from __future__ import annotations

import os
import subprocess
import sys

RIGHT = {
    "SPECFLEET_AGENT_AGGREGATOR": "fleet-aggregator:50051",
    "SPECFLEET_AGENT_WORKER_ID": "w",
    "SPECFLEET_AGENT_STATE_DIRECTORY": "/state",
    "SPECFLEET_AGENT_SHM_DIRECTORY": "/shm",
    "SPECFLEET_AGENT_MODEL": "/model",
}


def ended(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Start an agent that ends by itself."""
    return subprocess.run(
        [sys.executable, "-m", "specfleet_agent"],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_token_is_not_sent_over_a_network_in_the_clear() -> None:
    result = ended({**RIGHT, "SPECFLEET_AGENT_TOKEN_FILE": "/var/run/token"})

    assert result.returncode == 2
    assert "to which the token would go unencrypted" in result.stderr


def test_wrong_settings_are_named() -> None:
    result = ended({"SPECFLEET_AGENT_AGGREGATOR": "no-port"})

    assert result.returncode == 2
    assert "SPECFLEET_AGENT_AGGREGATOR" in result.stderr
    assert "SPECFLEET_AGENT_WORKER_ID: is missing" in result.stderr
