"""Traffic to simulated engines that fail in all the ways in which engines fail."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.cluster_traffic.asking import ABORTED, Question, ask, make_client
from e2e.cluster_traffic.background import running_traffic
from e2e.cluster_traffic.driving import Driving, Load
from e2e.cluster_traffic.judging import assert_no_failures, assert_same_answers
from e2e.cluster_traffic.records import Record, read_log
from e2e.cluster_traffic.watching import watch_pod
from e2e.cluster_traffic.windows import FIRST, Mark, windows
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
    engine.set(step_seconds=0.2)
    with running_traffic(engine.url, LOAD) as driver:
        driver.until(requests=1, seconds=20)
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
        window = driver.window("hang")
        engine.set(hang="")

    assert set(window.failures) == {"timeout"}


def test_an_engine_that_is_killed_fails_what_it_was_doing(engine: Simulator) -> None:
    engine.set(step_seconds=0.2)
    with running_traffic(engine.url, LOAD) as driver:
        driver.until(requests=1, seconds=20)
        driver.mark("killed")
        engine.process.kill()
        engine.process.wait()
        window = driver.window("killed")

    assert window.num_failures >= CLIENTS
    assert set(window.failures) <= {"ConnectError", "ReadError", "RemoteProtocolError"}


async def test_a_rate_is_kept_whatever_the_answers_do(engine: Simulator) -> None:
    engine.set(ttft_seconds=0.5)
    records: list[Record] = []
    stop = asyncio.Event()
    driving = Driving(
        engine.url, Load(clients=None, rate_per_second=50.0, max_tokens=4), emit=records.append
    )
    asyncio.get_running_loop().call_later(2.0, stop.set)

    await driving.drive(stop)

    began = sorted(record.began for record in records)
    assert 70 <= len(records) <= 101
    assert began[-1] - began[0] < 2.5
    assert not [record for record in records if record.failure]


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


def test_a_pod_prints_what_a_test_reads(engine: Simulator) -> None:
    command = [sys.executable, "-m", "e2e.cluster_traffic", "--url", engine.url]
    command += ["--clients", "2", "--max-tokens", "8", "--duration", "1.5"]

    printed = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)

    log = read_log(printed.stdout.splitlines())
    began = min(record.began for record in log.records)
    (window,) = windows(log, [Mark(FIRST, began)], until=log.settled)
    assert_no_failures(window, minimum=20)


def test_a_pod_is_watched_like_traffic_from_here(engine: Simulator, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "e2e.cluster_traffic", "--url", engine.url, "--clients", "4"]
    log = tmp_path / "pod.log"
    with log.open("w") as output, subprocess.Popen(command, stdout=output) as pod:
        watch = watch_pod(lambda: log.read_text().splitlines(), clock_ahead_seconds=0.0)
        watch.until(requests=20, seconds=20)
        watch.mark("errors")
        engine.set(error_rate=1.0)
        deadline = time.monotonic() + 20
        while not (failed := watch.window("errors")).num_failures:
            assert time.monotonic() < deadline, failed
        engine.set(error_rate=0.0)
        watch.mark("none again")
        watch.until(requests=20, seconds=20)
        first, _, last = watch.windows()
        pod.terminate()

    assert_no_failures(first, minimum=20)
    assert set(failed.failures) == {"HTTP 500"}
    assert last.requests - last.num_failures >= 20


def test_a_pod_that_is_told_to_end_ends_after_its_requests(engine: Simulator) -> None:
    engine.set(ttft_seconds=1.0)
    command = [sys.executable, "-m", "e2e.cluster_traffic", "--url", engine.url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        process.terminate()
        rest = process.stdout.read()

    log = read_log([first, *rest.splitlines()])
    assert process.returncode == 0
    assert len(log.records) == 8
    assert not [record for record in log.records if record.failure]
