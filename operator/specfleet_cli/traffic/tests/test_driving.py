"""Traffic to real HTTP servers that stand for engines."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from specfleet_cli.traffic.driving import Engine, Load, Traffic
from specfleet_cli.traffic.prompts import Document

DOCUMENTS = tuple(Document(id=str(n), text=f"{n} " + "word " * 40) for n in range(5))
LOAD = Load(concurrency=3, max_tokens=8, seed=1, requests=20, report_every_seconds=0.05)

Answering = Callable[[dict[str, Any]], tuple[int, dict[str, Any]]]


def answer_well(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Answer with the prompt's length and the number of tokens wished."""
    tokens = [len(body["prompt"]), body["max_tokens"]]
    return 200, {"choices": [{"text": "x", "token_ids": tokens}], "usage": {"completion_tokens": 2}}


def fail(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Be overloaded."""
    return 503, {"error": "overloaded"}


@asynccontextmanager
async def engine(name: str, answer: Answering) -> AsyncIterator[Engine]:
    """Serve /v1/completions with `answer`, and counters of speculation."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while request := await reader.readline():
            length = 0
            while (line := await reader.readline()) != b"\r\n":
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            body = await reader.readexactly(length)
            status, content = 200, COUNTERS
            if b"/v1/completions" in request:
                status, reply = answer(json.loads(body))
                content = json.dumps(reply)
            head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(content)}\r\n\r\n"
            writer.write((head + content).encode())
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        yield Engine(name=name, url=f"http://127.0.0.1:{port}", model="m")


COUNTERS = "vllm:spec_decode_num_drafts_total 10\nvllm:spec_decode_num_accepted_tokens_total 10\n"


@pytest.fixture
async def start() -> AsyncIterator[Callable[[str, Answering], Any]]:
    async with AsyncExitStack() as stack:
        yield lambda name, answer: stack.enter_async_context(engine(name, answer))


async def test_every_engine_gets_every_prompt_and_answers_are_compared(start: Any) -> None:
    engines = [await start(name, answer_well) for name in ("control", "push")]
    lines: list[dict[str, Any]] = []
    traffic = Traffic(engines, DOCUMENTS, LOAD, reference="control", emit=lines.append)

    outcome = await traffic.drive(asyncio.Event())

    assert [one.requests for one in outcome.engines.values()] == [20, 20]
    assert (outcome.num_errors, outcome.differences) == (0, ())
    assert outcome.engines["push"].compared == 20
    assert outcome.engines["push"].tokens == 40


async def test_a_different_answer_is_reported(start: Any) -> None:
    def answer_badly(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        status, reply = answer_well(body)
        reply["choices"][0]["token_ids"][1] += len(body["prompt"]) == 60
        return status, reply

    engines = [await start("control", answer_well), await start("push", answer_badly)]
    documents = (Document(id="short", text="s" * 90), *DOCUMENTS)
    traffic = Traffic(engines, documents, LOAD, reference="control", emit=lambda line: None)

    outcome = await traffic.drive(asyncio.Event())

    assert {found.document for found in outcome.differences} == {"short"}
    assert outcome.engines["push"].different == len(outcome.differences) > 0


async def test_errors_are_counted_and_not_tried_again(start: Any) -> None:
    engines = [await start("control", answer_well), await start("push", fail)]
    load = Load(concurrency=4, max_tokens=8, seed=1, requests=4, report_every_seconds=60.0)
    traffic = Traffic(engines, DOCUMENTS, load, reference="control", emit=lambda line: None)

    outcome = await traffic.drive(asyncio.Event())

    assert outcome.engines["push"].errors == {"HTTP 503": 4}
    assert outcome.engines["push"].compared == 0
    assert outcome.engines["control"].errors == {}


async def test_an_engine_that_is_away_is_an_error_per_request() -> None:
    nobody = Engine(name="control", url="http://127.0.0.1:9", model="m")
    load = Load(concurrency=2, max_tokens=8, seed=1, requests=2, report_every_seconds=60.0)
    traffic = Traffic([nobody], DOCUMENTS, load, reference="control", emit=lambda line: None)

    outcome = await traffic.drive(asyncio.Event())

    assert outcome.engines["control"].errors == {"ConnectError": 2}


async def test_traffic_without_an_end_stops_when_told(start: Any) -> None:
    stop = asyncio.Event()
    lines: list[dict[str, Any]] = []

    def emit(line: dict[str, Any]) -> None:
        lines.append(line)
        stop.set()

    load = Load(concurrency=2, max_tokens=8, seed=1, requests=None, report_every_seconds=0.05)
    engines = [await start("control", answer_well)]
    traffic = Traffic(engines, DOCUMENTS, load, reference="control", emit=emit)

    outcome = await asyncio.wait_for(traffic.drive(stop), 10)

    assert lines[0]["event"] == "progress"
    assert outcome.engines["control"].requests > 0
