from __future__ import annotations

import asyncio

import pytest
from prometheus_client import CollectorRegistry

from specfleet_agent.http import response, serve
from specfleet_agent.instruments import Instruments

REGISTRY = CollectorRegistry()
Instruments(REGISTRY).heartbeats.labels(result="ok").inc()


@pytest.mark.parametrize(
    ("head", "stalled", "trouble", "status", "body"),
    [
        pytest.param(b"GET /healthz HTTP/1.1", (), "", b"200 OK", b"ok\n", id="healthy"),
        pytest.param(b"GET /healthz?x=1 HTTP/1.1", (), "", b"200 OK", b"ok\n", id="query"),
        pytest.param(
            b"GET /healthz HTTP/1.1",
            ("deliver", "read"),
            "unreachable: nobody listens",
            b"503 Service Unavailable",
            b"stalled: deliver, read\n",
            id="stalled",
        ),
        pytest.param(
            b"GET /healthz HTTP/1.1",
            (),
            "unauthorized: the token expired",
            b"200 OK",
            b"ok\naggregator: unauthorized: the token expired\n",
            id="turned-away",
        ),
        pytest.param(
            b"GET / HTTP/1.1",
            (),
            "",
            b"404 Not Found",
            b"expected /healthz or /metrics\n",
            id="other",
        ),
        pytest.param(
            b"POST /healthz HTTP/1.1",
            (),
            "",
            b"405 Method Not Allowed",
            b"only GET and HEAD\n",
            id="post",
        ),
    ],
)
def test_response(
    head: bytes, stalled: tuple[str, ...], trouble: str, status: bytes, body: bytes
) -> None:
    answer = response(head, stalled=stalled, trouble=trouble, registry=REGISTRY)

    assert answer.startswith(b"HTTP/1.1 " + status + b"\r\n")
    assert answer.endswith(b"\r\n\r\n" + body)


def test_metrics_are_served_even_when_something_is_stalled() -> None:
    answer = response(b"GET /metrics HTTP/1.1", stalled=("read",), trouble="", registry=REGISTRY)

    assert b'specfleet_agent_heartbeats_total{result="ok"} 1.0' in answer


@pytest.mark.parametrize("noise", [b"", b"GET /healthz", b"x" * 100_000])
async def test_noise_does_not_harm_the_next_caller(noise: bytes) -> None:
    server, port = await serve("127.0.0.1", 0, stalled=lambda: (), trouble=str, registry=REGISTRY)
    _, noisy = await asyncio.open_connection("127.0.0.1", port)
    noisy.write(noise)
    noisy.close()

    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: agent\r\n\r\n")
    answer = await reader.read()

    writer.close()
    server.close()
    assert answer.startswith(b"HTTP/1.1 200 OK")
