"""One request and what became of it. It is never tried again."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import httpx

from e2e.cluster_traffic.records import Record
from specfleet_cli.traffic.completions import KEEP_ALIVE_SECONDS

ENGINE_HEADER = "X-Simulator-Engine"
ABORTED = "aborted by the engine"
"""What vLLM does to requests under way when it is told to end: HTTP 200 and half an answer."""
CUT_SHORT = "stream cut short"
UNREADABLE = "unreadable answer"
CONNECT_SECONDS = 5.0
"""As in OpenAI's client."""
_DONE = "[DONE]"


@dataclass(frozen=True, slots=True)
class Question:
    """What one request asks."""

    number: int
    prompt_number: int
    prompt: str
    stream: bool


class _Failure(Exception):
    """The request failed; the message is its reason."""


@dataclass(slots=True)
class _Answer:
    """An answer as far as it has come."""

    text: str = ""
    tokens: int = 0
    finish_reason: str | None = None
    ttft_seconds: float | None = None


def make_client(*, connections: int) -> httpx.AsyncClient:
    """Return a client whose idle connections are closed by us before the engine does it."""
    limits = httpx.Limits(
        max_connections=connections,
        max_keepalive_connections=connections,
        keepalive_expiry=KEEP_ALIVE_SECONDS,
    )
    timeout = httpx.Timeout(None, connect=CONNECT_SECONDS)
    # No proxy: a fleet's addresses are of the cluster or of this machine.
    return httpx.AsyncClient(limits=limits, timeout=timeout, trust_env=False)


async def ask(
    client: httpx.AsyncClient,
    url: str,
    question: Question,
    *,
    model: str,
    max_tokens: int,
    timeout_seconds: float,
) -> Record:
    """Send a question and return what became of it, a failure included."""
    body = {
        "model": model,
        "prompt": question.prompt,
        "max_tokens": max_tokens,
        "temperature": 0,
        "stream": question.stream,
    }
    if question.stream:
        body["stream_options"] = {"include_usage": True}
    answer, failure = _Answer(), ""
    status, engine = None, ""
    began, clock = time.time(), time.monotonic()
    try:
        async with (
            asyncio.timeout(timeout_seconds),
            client.stream("POST", f"{url}/v1/completions", json=body) as response,
        ):
            status = response.status_code
            engine = response.headers.get(ENGINE_HEADER, "")
            if status != HTTPStatus.OK:
                raise _Failure(f"HTTP {status}")
            if question.stream:
                await _read_stream(response, answer, clock=clock)
            else:
                _read_whole(answer, await response.aread())
        _check(answer)
    except TimeoutError:
        failure = "timeout"
    except httpx.HTTPError as error:
        failure = type(error).__name__
    except _Failure as error:
        failure = str(error)
    return Record(
        number=question.number,
        began=began,
        seconds=time.monotonic() - clock,
        status=status,
        failure=failure,
        engine=engine,
        tokens=0 if failure else answer.tokens,
        ttft_seconds=answer.ttft_seconds,
        prompt=question.prompt_number,
        answer="" if failure else hashlib.sha256(answer.text.encode()).hexdigest()[:12],
    )


async def _read_stream(response: httpx.Response, answer: _Answer, *, clock: float) -> None:
    """Read a stream to its end, so that its connection can be kept."""
    is_done = False
    try:
        async for line in response.aiter_lines():
            if not line.startswith("data: "):
                continue
            data = line.removeprefix("data: ")
            if data == _DONE:
                is_done = True
                continue
            _take_event(_object(data), answer, clock=clock)
    except httpx.HTTPError:
        if not is_done:
            raise
    if not is_done:
        raise _Failure(CUT_SHORT)


def _take_event(event: Mapping[str, Any], answer: _Answer, *, clock: float) -> None:
    for choice in event.get("choices", ()):
        if answer.ttft_seconds is None:
            answer.ttft_seconds = time.monotonic() - clock
        answer.text += choice["text"]
        answer.finish_reason = choice["finish_reason"] or answer.finish_reason
    answer.tokens = (event.get("usage") or {}).get("completion_tokens", answer.tokens)


def _read_whole(answer: _Answer, content: bytes) -> None:
    body = _object(content)
    try:
        (choice,) = body["choices"]
        answer.text, answer.finish_reason = choice["text"], choice["finish_reason"]
        answer.tokens = body["usage"]["completion_tokens"]
    except (KeyError, TypeError, ValueError) as error:
        raise _Failure(UNREADABLE) from error


def _object(content: bytes | str) -> Mapping[str, Any]:
    try:
        found = json.loads(content)
    except ValueError as error:
        raise _Failure(UNREADABLE) from error
    if not isinstance(found, dict) or "error" in found:
        raise _Failure(UNREADABLE)
    return found


def _check(answer: _Answer) -> None:
    if answer.finish_reason == "abort":
        raise _Failure(ABORTED)
    if answer.finish_reason is None or not answer.tokens:
        raise _Failure(CUT_SHORT)
