"""One request to an engine's OpenAI API: an answer, or the kind of failure. Never tries again."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import httpx

from specfleet_cli.traffic.comparison import Answer

TIMEOUT_SECONDS = 120.0
# Below vLLM's 5 s, so that an idle connection is closed by us and not under a request of ours.
KEEP_ALIVE_SECONDS = 2.0
LOOPBACK = ("all://localhost", "all://127.0.0.1", "all://[::1]")


class RequestError(Exception):
    """The request failed; `kind` is the same for failures of the same sort."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


def make_client(*, connections: int) -> httpx.AsyncClient:
    """Return an HTTP client for so many requests at once."""
    limits = httpx.Limits(
        max_connections=connections,
        max_keepalive_connections=connections,
        keepalive_expiry=KEEP_ALIVE_SECONDS,
    )
    # None: no proxy on the way to this machine, whatever the environment says.
    mounts = dict.fromkeys(LOOPBACK)
    return httpx.AsyncClient(limits=limits, timeout=TIMEOUT_SECONDS, mounts=mounts)


async def complete(
    client: httpx.AsyncClient, url: str, *, model: str, prompt: str, max_tokens: int
) -> Answer:
    """Return the greedy completion of a prompt; RequestError when there is none."""
    body = {
        "model": model,
        "prompt": prompt,
        "max_tokens": max_tokens,
        "temperature": 0,
        "return_token_ids": True,
    }
    try:
        response = await client.post(f"{url}/v1/completions", json=body)
    except httpx.HTTPError as error:
        raise RequestError(type(error).__name__) from error
    if response.status_code != HTTPStatus.OK:
        raise RequestError(f"HTTP {response.status_code}")
    try:
        return _answer(response.json())
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise RequestError("unreadable answer") from error


async def served_model(client: httpx.AsyncClient, url: str) -> str:
    """Return the name of the model an engine serves."""
    try:
        response = await client.get(f"{url}/v1/models")
        response.raise_for_status()
        return str(response.json()["data"][0]["id"])
    except (httpx.HTTPError, ValueError, KeyError, IndexError) as error:
        raise RequestError(f"{url}: names no model, expected an engine: {error}") from error


def _answer(body: dict[str, Any]) -> Answer:
    choice = body["choices"][0]
    return Answer(
        text=choice["text"],
        token_ids=tuple(choice.get("token_ids") or ()),
        num_tokens=body["usage"]["completion_tokens"],
    )
