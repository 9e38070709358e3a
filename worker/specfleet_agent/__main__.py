"""Starts the agent: `python -m specfleet_agent`, with SPECFLEET_AGENT_* set."""

from __future__ import annotations

import sys


def main() -> int:
    """Check the settings first, import everything else second."""
    from pydantic import ValidationError

    from specfleet_agent.settings import Settings

    try:
        settings = Settings.model_validate({})
    except ValidationError as error:
        print(f"specfleet_agent: settings are wrong: {error}", file=sys.stderr)
        return 2

    import asyncio
    import os

    import structlog

    from specfleet_agent.agent import run

    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    return asyncio.run(run(settings, os.environ))


if __name__ == "__main__":
    sys.exit(main())
