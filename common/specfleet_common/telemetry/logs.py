"""How every process logs: one JSON object per line on standard error."""

from __future__ import annotations

import sys

import structlog


def configure() -> None:
    """Set structlog up; call it once, before the first logger is used."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
