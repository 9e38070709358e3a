"""Traffic to simulated engines that fail in all the ways in which engines fail."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.cluster_traffic.asking import ABORTED, Question, ask, make_client
from e2e.cluster_traffic.background import running_traffic
from e2e.cluster_traffic.driving import Load
from e2e.cluster_traffic.judging import assert_no_failures, assert_same_answers
from e2e.cluster_traffic.windows import FIRST
from e2e.simulator.running import Simulator, running_simulator

CLIENTS = 4
LOAD = Load(clients=CLIENTS, max_tokens=16, timeout_seconds=10.0)
FAST = {"SIMULATOR_STEP_SECONDS": "0.002", "SIMULATOR_TTFT_SECONDS": "0.004"}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Simulator]:
    with running_simulator(tmp_path / "engine.log", environment=FAST) as running:
        yield running


def test_a_healthy_engine_fails_nobody(engine: Simulator) -> None:
    with running_traffic(engine.url, LOAD) as driver:
        driver.until(requests=100, seconds=20)
        (window,) = driver.windows()

    assert_no_failures(window, minimum=100)
    assert_same_answers(window)
    assert window.name == FIRST
    assert len(window.engines) == 1
    assert window.tokens == 16 * window.requests
    assert window.ttft.p50 is not None and window.latency.p50 is not None
    assert window.ttft.p50 < window.latency.p50


def test_failures_belong_to_the_window_of_their_cause(engine: Simulator) -> None:
    with running_traffic(engine.url, LOAD) as driver:
        driver.until(requests=40, seconds=20)
        driver.mark("errors")
        engine.set(error_rate=0.25)
        driver.until(requests=60, seconds=20)
        engine.set(error_rate=0.0)
        driver.mark("none again")
        driver.until(requests=40, seconds=20)
        first, errors, last = driver.windows()

    assert_no_failures(first, minimum=40)
    assert set(errors.failures) == {"HTTP 500"}
    assert 0.15 < errors.num_failures / errors.requests < 0.35
    assert last.num_failures <= CLIENTS


def test_an_engine_that_ends_under_a_request_has_failed_it(engine: Simulator) -> None:
    engine.set(step_seconds=2.0)
    with running_traffic(engine.url, LOAD) as driver:
        _wait_for_requests(engine, CLIENTS)
        driver.mark("sigterm")
        engine.process.send_signal(signal.SIGTERM)
        engine.process.wait(10)
        window = driver.window("sigterm")

    assert window.failures[ABORTED] == CLIENTS


def test_a_hang_is_a_timeout_and_is_waited_for(engine: Simulator) -> None:
    with running_traffic(engine.url, Load(clients=2, timeout_seconds=1.0)) as driver:
        driver.until(requests=10, seconds=20)
        driver.mark("hang")
        engine.set(hang="generation")
        driver.until(failures=1, seconds=20)
        window = driver.window("hang")
        engine.set(hang="")

    assert set(window.failures) == {"timeout"}


def test_an_engine_that_is_killed_fails_what_it_was_doing(engine: Simulator) -> None:
    engine.set(step_seconds=2.0)
    with running_traffic(engine.url, LOAD) as driver:
        _wait_for_requests(engine, CLIENTS)
        driver.mark("killed")
        engine.process.kill()
        engine.process.wait()
        window = driver.window("killed")

    assert window.num_failures >= CLIENTS
    assert set(window.failures) <= {"ConnectError", "ReadError", "RemoteProtocolError"}


async def test_a_connection_that_was_closed_while_idle_is_replaced() -> None:
    connections = 0
    closed = asyncio.Event()

    async def answer_and_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().split(b"\r\n") if b"content-length" in line)
        await reader.readexactly(int(length.split(b":")[1]))
        choice = {"text": "x", "finish_reason": "length"}
        content = json.dumps({"choices": [choice], "usage": {"completion_tokens": 1}})
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(content)}\r\n\r\n{content}".encode())
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        closed.set()

    records = []
    server = await asyncio.start_server(answer_and_close, "127.0.0.1", 0)
    async with server, make_client(connections=1) as client:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        for number in range(2):
            question = Question(number, 0, "a prompt", stream=False)
            records.append(
                await ask(client, url, question, model="m", max_tokens=1, timeout_seconds=5.0)
            )
            await closed.wait()
            closed.clear()

    assert [(record.status, record.failure) for record in records] == [(200, "")] * 2
    assert connections == 2


def _wait_for_requests(engine: Simulator, number: int) -> None:
    deadline = time.monotonic() + 20
    while (found := engine.set()["unfinished"]) < number:
        assert time.monotonic() < deadline, f"{found} requests are under way, expected {number}"
        time.sleep(0.02)
