"""Loops that never end: a step that fails is counted, logged and tried again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog
from prometheus_client import Counter

from specfleet_common.back_off import back_off_seconds

log = structlog.get_logger()

Step = Callable[[], Awaitable[float]]
"""Does one thing and returns how many seconds may pass before it is called again."""


@dataclass(slots=True)
class _Progress:
    """When a loop last completed a step, and how long it may take for the next."""

    at: float
    patience_seconds: float


class Loops:
    """Runs steps for ever, and knows which of them have got stuck."""

    def __init__(self, clock: Callable[[], float], failures: Counter) -> None:
        self._clock = clock
        self._failures = failures
        self._progress: dict[str, _Progress] = {}

    async def keep(
        self, name: str, step: Step, *, patience_seconds: float, wake: asyncio.Event | None = None
    ) -> None:
        """Repeat `step`; setting `wake` ends a pause early."""
        self._progress[name] = _Progress(self._clock(), patience_seconds)
        wake = wake or asyncio.Event()
        num_failures = 0
        while True:
            wake.clear()
            try:
                pause_seconds = await step()
            except Exception:
                num_failures += 1
                pause_seconds = back_off_seconds(num_failures)
                self._failures.labels(loop=name).inc()
                log.exception("loop_failed", loop=name, next_seconds=pause_seconds)
            else:
                num_failures = 0
                self._progress[name].at = self._clock()
            await _wait(wake, pause_seconds)

    def stalled(self) -> tuple[str, ...]:
        """Return the loops that have not completed a step within their patience."""
        now = self._clock()
        return tuple(
            name
            for name, progress in sorted(self._progress.items())
            if now - progress.at > progress.patience_seconds
        )


async def _wait(wake: asyncio.Event, seconds: float) -> None:
    if seconds <= 0:
        await asyncio.sleep(0)
        return
    try:
        async with asyncio.timeout(seconds):
            await wake.wait()
    except TimeoutError:
        return
