"""What a running aggregator tells about promotions that are open."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from specfleet_common.wire.access import Access
from specfleet_common.wire.client import AggregatorClient, Refused, Unreachable
from specfleet_common.wire.messages import PromotionState

SECONDS = 5.0


async def live_states(
    address: str, access: Access, wanted: Collection[str], *, seconds: float = SECONDS
) -> tuple[PromotionState, ...] | None:
    """Return the states of a lineage that has the wanted promotions; None when nobody tells."""
    try:
        async with asyncio.timeout(seconds), AggregatorClient(address, access) as client:
            async for fleet in client.watch_state():
                if any(state.id in wanted for state in fleet.promotions):
                    return fleet.promotions
    except (Unreachable, Refused, TimeoutError):
        return None
    return None
