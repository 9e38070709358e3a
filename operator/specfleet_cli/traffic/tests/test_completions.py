"""The HTTP client of the traffic."""

from __future__ import annotations

import httpx
import pytest

from specfleet_cli.traffic.completions import make_client

DEAD_PROXY = "http://127.0.0.1:9"


@pytest.mark.parametrize(
    ("host", "through_proxy"),
    [("127.0.0.1", False), ("localhost", False), ("[::1]", False), ("engine.invalid", True)],
)
async def test_only_engines_elsewhere_are_reached_through_a_proxy(
    host: str, through_proxy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", DEAD_PROXY)

    async with make_client(connections=1) as client:
        transport = client._transport_for_url(httpx.URL(f"http://{host}:1"))

    assert (transport is not client._transport) is through_proxy
