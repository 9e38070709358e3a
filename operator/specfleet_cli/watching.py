"""Follows the aggregator's state for as long as the run lasts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from specfleet_common.wire.access import Access
from specfleet_common.wire.client import AggregatorClient, Unreachable
from specfleet_common.wire.messages import FleetState

FIRST_PAUSE_SECONDS = 0.25
LAST_PAUSE_SECONDS = 4.0


async def watch(address: str, access: Access, report: Callable[[FleetState], None]) -> None:
    """Report every state the aggregator at `address` tells; connects again when it was away."""
    pause = FIRST_PAUSE_SECONDS
    async with AggregatorClient(address, access) as client:
        while True:
            try:
                async for state in client.watch_state():
                    report(state)
                    pause = FIRST_PAUSE_SECONDS
            except Unreachable:
                pause = min(2 * pause, LAST_PAUSE_SECONDS)
            await asyncio.sleep(pause)
