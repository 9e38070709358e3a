"""How every process logs: one line per event on standard error, a JSON object unless asked."""

from __future__ import annotations

import sys

import structlog


def configure(*, readable: bool = False) -> None:
    """Set structlog up; call it once, before the first logger is used.

    `readable` lines are for people who start a process by hand.
    """
    last: list[structlog.typing.Processor] = [
        structlog.processors.format_exc_info,
        structlog.processors.JSONRenderer(),
    ]
    if readable:
        last = [structlog.dev.ConsoleRenderer(colors=False)]
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *last,
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
