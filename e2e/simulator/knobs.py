"""The behaviour that is in force now, and waiting for it to change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from e2e.simulator.behaviour import Behaviour


class Knobs:
    """Belongs to one event loop."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self._changed = asyncio.Event()

    def set(self, behaviour: Behaviour) -> None:
        """Put another behaviour into force."""
        self.behaviour = behaviour
        self._changed.set()
        self._changed = asyncio.Event()

    async def until(self, condition: Callable[[Behaviour], bool]) -> None:
        """Wait until the behaviour fulfils a condition."""
        while not condition(self.behaviour):
            await self._changed.wait()
