"""The operator's metrics and logs, and the pages that Kubernetes and Prometheus ask for.

The pages share the event loop with everything they vouch for: when that hangs, nothing answers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

import structlog
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from specfleet_common.telemetry import operator as names
from specfleet_common.telemetry.metric import counter, gauge, histogram
from specfleet_operator.api import NotLeading, Unreachable

REQUEST_SECONDS = 5.0
MAX_REQUEST_BYTES = 8192

Problems = Callable[[], tuple[str, ...]]


class Instruments:
    """What the operator counts."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.fleets = gauge(names.FLEETS, registry)
        self.queue_depth = gauge(names.QUEUE_DEPTH, registry)
        self.reconcile_duration = histogram(names.RECONCILE_DURATION, registry)
        self.reconcile_failures = counter(names.RECONCILE_FAILURES, registry)
        self.api_writes = counter(names.API_WRITES, registry)
        self.leader = gauge(names.LEADER, registry)
        self.stream_age = gauge(names.STREAM_AGE, registry)
        self.aggregators = gauge(names.AGGREGATORS, registry)
        # There before the first one, or a rate would miss it.
        for failure in (Unreachable, NotLeading):
            self.reconcile_failures.labels(reason=failure.__name__)

    def count_write(self, verb: str, kind: str) -> None:
        """Count a request that changes something."""
        self.api_writes.labels(verb=verb, kind=kind).inc()


class LibraryLog(logging.Handler):
    """Passes on what libraries log, as an event with a constant name."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log one record."""
        facts: dict[str, Any] = {"library": record.name, "message": record.getMessage()}
        if record.exc_info is not None:
            facts["exc_info"] = record.exc_info
        structlog.get_logger().log(record.levelno, "library_message", **facts)


def adopt_library_logs() -> None:
    """Bring the warnings of libraries into our log."""
    root = logging.getLogger()
    root.handlers[:] = [LibraryLog()]
    root.setLevel(logging.WARNING)


Page = Callable[[], tuple[str, bytes, str]]
"""Returns status, body and content type."""


def metrics_page(registry: CollectorRegistry, refresh: Callable[[], None]) -> Page:
    """Return the page of all metrics; `refresh` brings those up to date that only time changes."""

    def page() -> tuple[str, bytes, str]:
        refresh()
        return "200 OK", generate_latest(registry), CONTENT_TYPE_LATEST

    return page


def health_page(problems: Problems) -> Page:
    """Return a page that is well while there are no problems, and names them otherwise."""

    def page() -> tuple[str, bytes, str]:
        found = problems()
        if found:
            return "503 Service Unavailable", "".join(f"{one}\n" for one in found).encode(), _TEXT
        return "200 OK", b"ok\n", _TEXT

    return page


async def serve(host: str, port: int, pages: Mapping[str, Page]) -> asyncio.Server:
    """Answer GET for the paths of `pages`."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(response(head, pages))
                await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            return  # A caller that says nothing sensible gets no answer.
        finally:
            writer.close()

    return await asyncio.start_server(answer, host, port, limit=MAX_REQUEST_BYTES)


def response(head: bytes, pages: Mapping[str, Page]) -> bytes:
    """Return the whole answer to a request that begins with `head`."""
    method, _, rest = head.partition(b" ")
    path = rest.partition(b" ")[0].partition(b"?")[0].decode("latin-1")
    if method not in (b"GET", b"HEAD"):
        return _answer("405 Method Not Allowed", b"only GET and HEAD\n", _TEXT)
    if path not in pages:
        expected = " or ".join(sorted(pages))
        return _answer("404 Not Found", f"expected {expected}\n".encode(), _TEXT)
    return _answer(*pages[path]())


_TEXT = "text/plain; charset=utf-8"


def _answer(status: str, body: bytes, kind: str) -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
