"""The agent's two pages for the kubelet and Prometheus: /healthz and /metrics. Nothing else.

It shares the event loop with everything it vouches for: when that hangs, it does not answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

REQUEST_SECONDS = 5.0
MAX_REQUEST_BYTES = 8192


async def serve(
    host: str,
    port: int,
    *,
    stalled: Callable[[], tuple[str, ...]],
    trouble: Callable[[], str],
    registry: CollectorRegistry,
) -> tuple[asyncio.Server, int]:
    """Start the server and return it with the port that it got.

    `stalled` makes the agent unhealthy; `trouble` with the aggregator is only shown: a restart
    would not end it.
    """

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                answer = response(head, stalled=stalled(), trouble=trouble(), registry=registry)
                writer.write(answer)
                await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            return  # A caller that says nothing sensible gets no answer.
        finally:
            writer.close()

    server = await asyncio.start_server(answer, host, port, limit=MAX_REQUEST_BYTES)
    return server, server.sockets[0].getsockname()[1]


def response(
    head: bytes, *, stalled: tuple[str, ...], trouble: str, registry: CollectorRegistry
) -> bytes:
    """Return the whole answer to a request that begins with `head`."""
    method, _, rest = head.partition(b" ")
    path = rest.partition(b" ")[0].partition(b"?")[0]
    if method not in (b"GET", b"HEAD"):
        return _response("405 Method Not Allowed", b"only GET and HEAD\n")
    if path == b"/metrics":
        return _response("200 OK", generate_latest(registry), CONTENT_TYPE_LATEST)
    if path != b"/healthz":
        return _response("404 Not Found", b"expected /healthz or /metrics\n")
    if stalled:
        return _response("503 Service Unavailable", f"stalled: {', '.join(stalled)}\n".encode())
    return _response("200 OK", f"ok\naggregator: {trouble}\n".encode() if trouble else b"ok\n")


def _response(status: str, body: bytes, kind: str = "text/plain; charset=utf-8") -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
