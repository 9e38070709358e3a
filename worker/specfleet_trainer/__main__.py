"""`python -m specfleet_trainer`."""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Check the settings and tie the process to its parent first, import torch second."""
    from specfleet_trainer.lifeline import end_with_parent
    from specfleet_trainer.settings import Settings

    settings = Settings()  # type: ignore[call-arg]  # the environment has the arguments
    if not end_with_parent(settings.parent_pid or os.getppid()):
        return 0

    import structlog

    from specfleet_trainer.loop import run

    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    return run(settings)


if __name__ == "__main__":
    sys.exit(main())
