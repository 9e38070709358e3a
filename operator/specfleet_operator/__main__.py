"""Starts the operator: `python -m specfleet_operator`, with SPECFLEET_OPERATOR_* set."""

from __future__ import annotations

import sys


def main() -> int:
    """Check the settings first, import everything else second."""
    from specfleet_common.environment import EnvironmentWrong, read_environment
    from specfleet_operator.settings import Settings

    try:
        settings = read_environment(Settings)
    except EnvironmentWrong as error:
        print(f"specfleet_operator: {error}", file=sys.stderr)
        return 2

    import asyncio

    from specfleet_common.telemetry import logs
    from specfleet_operator.connecting import NoCluster
    from specfleet_operator.operating import operate
    from specfleet_operator.telemetry import adopt_library_logs

    logs.configure(readable=settings.log_format == "text")
    adopt_library_logs()
    try:
        return asyncio.run(operate(settings))
    except NoCluster as error:
        print(f"specfleet_operator: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
