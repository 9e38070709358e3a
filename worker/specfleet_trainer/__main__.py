"""`python -m specfleet_trainer`."""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Settle what the process may do first, import torch second."""
    from specfleet_common.environment import EnvironmentWrong, read_environment
    from specfleet_trainer.lifeline import end_with_parent
    from specfleet_trainer.scheduling import yield_to_others
    from specfleet_trainer.settings import Settings

    try:
        settings = read_environment(Settings)
    except EnvironmentWrong as error:
        print(f"specfleet_trainer: {error}", file=sys.stderr)
        return 2
    if not end_with_parent(settings.parent_pid or os.getppid()):
        return 0

    from specfleet_common.telemetry import logs
    from specfleet_trainer.loop import run

    yield_to_others(cores=settings.cores)
    logs.configure()
    return run(settings)


if __name__ == "__main__":
    sys.exit(main())
