"""Starts the agent: `python -m specfleet_agent`, with SPECFLEET_AGENT_* set."""

from __future__ import annotations

import sys

from specfleet_common.stopping import stop_when_told


def main() -> int:
    """Check the settings first, import everything else second."""
    stop_when_told()

    from specfleet_agent.settings import Settings
    from specfleet_common.environment import EnvironmentWrong, read_environment

    try:
        settings = read_environment(Settings)
    except EnvironmentWrong as error:
        print(f"specfleet_agent: {error}", file=sys.stderr)
        return 2

    import asyncio
    import os

    from specfleet_agent.agent import run
    from specfleet_common.telemetry import logs

    logs.configure()
    return asyncio.run(run(settings, os.environ))


if __name__ == "__main__":
    sys.exit(main())
