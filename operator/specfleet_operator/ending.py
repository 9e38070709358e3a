"""How the operator is told to end, and how it tells what ended."""

from __future__ import annotations

import asyncio
import signal

import structlog

from specfleet_operator.leading import LostLead

log = structlog.get_logger()


def take_signals(stop: asyncio.Event) -> None:
    """Have the process's signals to end set `stop`, whoever took them before."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)


async def told_to(stop: asyncio.Event) -> None:
    """Wait until the process is told to end."""
    await stop.wait()


def log_end(task: asyncio.Task[None]) -> None:
    """Log how a part ended that goes on for as long as the operator does."""
    error = None if task.cancelled() else task.exception()
    if isinstance(error, LostLead):
        log.error("lead_lost", error=str(error))
    elif error is not None:
        log.error("part_failed", part=task.get_name(), exc_info=error)
    else:
        log.info("ending", part=task.get_name())
