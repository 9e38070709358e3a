"""Waits for what other tasks of the test do, which set no event for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


async def until(holds: Callable[[], object], *, seconds: float = 10.0) -> None:
    """Return when something is true; TimeoutError when it does not become so."""
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110 - it is seen to be, and nobody tells
            await asyncio.sleep(0.01)
