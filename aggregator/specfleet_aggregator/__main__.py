"""Starts the aggregator: `python -m specfleet_aggregator`, with SPECFLEET_AGGREGATOR_* set."""

from __future__ import annotations

import os
import sys

from specfleet_common.stopping import stop_when_told


def main() -> int:
    """Check the settings first, import everything else second."""
    stop_when_told()

    from specfleet_aggregator.settings import Settings
    from specfleet_common.environment import EnvironmentWrong, read_environment

    try:
        settings = read_environment(Settings)
    except EnvironmentWrong as error:
        print(f"specfleet_aggregator: {error}", file=sys.stderr)
        return 2

    import asyncio

    from specfleet_aggregator.authentication import AuthenticationError
    from specfleet_aggregator.certificate import CertificateError
    from specfleet_aggregator.server import serve
    from specfleet_common.api.learning import SettingsError
    from specfleet_common.store.location import shown
    from specfleet_common.store.opening import CannotOpen, open_store
    from specfleet_common.store.owner import UnusableStore
    from specfleet_common.telemetry import logs

    logs.configure()
    try:
        store = open_store(settings.store, os.environ, spool_directory=settings.spool_directory)
        asyncio.run(serve(settings, store))
    except (CannotOpen, UnusableStore) as error:
        print(f"specfleet_aggregator: {shown(settings.store)}: {error}", file=sys.stderr)
        return 1
    except (SettingsError, AuthenticationError, CertificateError) as error:
        print(f"specfleet_aggregator: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
