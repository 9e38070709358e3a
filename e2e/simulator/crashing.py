"""Ends the process without a word when the test wants it to."""

from __future__ import annotations

import asyncio
import os

EXIT_CODE = 1


class Crash:
    """At most one end is due; setting another replaces it. Belongs to the running event loop."""

    def __init__(self) -> None:
        self._due: asyncio.TimerHandle | None = None

    def set(self, after_seconds: float | None) -> None:
        """End the process so long from now, or not at all."""
        if self._due is not None:
            self._due.cancel()
        self._due = None
        if after_seconds is not None:
            loop = asyncio.get_running_loop()
            self._due = loop.call_later(after_seconds, os._exit, EXIT_CODE)
