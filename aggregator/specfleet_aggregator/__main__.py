"""Starts the aggregator: `python -m specfleet_aggregator`, with SPECFLEET_AGGREGATOR_* set."""

from __future__ import annotations

import sys


def main() -> int:
    """Check the settings first, import everything else second."""
    from pydantic import ValidationError

    from specfleet_aggregator.settings import Settings

    try:
        settings = Settings.model_validate({})
    except ValidationError as error:
        print(f"specfleet_aggregator: settings are wrong: {error}", file=sys.stderr)
        return 2

    import asyncio

    from specfleet_aggregator.server import serve
    from specfleet_common.store.owner import ForeignStore
    from specfleet_common.telemetry import logs

    logs.configure()
    try:
        asyncio.run(serve(settings))
    except ForeignStore as error:
        print(f"specfleet_aggregator: {settings.store_directory}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
