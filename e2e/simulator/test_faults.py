"""Engines that fail as the test wants them to."""

from __future__ import annotations

import json
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from e2e.simulator.running import Simulator, running_simulator, set_behaviour

FAST = {"SIMULATOR_STEP_SECONDS": "0.002", "SIMULATOR_TTFT_SECONDS": "0.004"}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulator]:
    log = tmp_path_factory.mktemp("simulator") / "log"
    with running_simulator(log, environment=FAST) as running:
        yield running


def ask(engine: Simulator, *, max_tokens: int = 8, timeout: float = 10.0) -> tuple[int, Any]:
    body = {"prompt": "A question", "max_tokens": max_tokens, "ignore_eos": True}
    request = urllib.request.Request(f"{engine.url}/v1/completions", json.dumps(body).encode())
    try:
        with urllib.request.urlopen(request, timeout=timeout) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_errors_come_for_the_set_share_of_requests(engine: Simulator) -> None:
    engine.set(error_rate=0.25)

    statuses = [ask(engine)[0] for _ in range(40)]
    engine.set(error_rate=0.0)

    assert statuses.count(500) == 10
    assert statuses.count(200) == 30


def test_requests_beyond_the_limit_are_refused_as_vllm_does(engine: Simulator) -> None:
    engine.set(max_requests=2, step_seconds=0.05)

    with ThreadPoolExecutor(6) as pool:
        replies = list(pool.map(lambda _: ask(engine, max_tokens=16), range(6)))
    engine.set(max_requests=None, step_seconds=0.002)

    statuses = [status for status, _ in replies]
    refused = next(body for status, body in replies if status == 503)
    assert (statuses.count(200), statuses.count(503)) == (2, 4)
    assert refused["error"]["type"] == "Service Unavailable"


def test_speed_is_what_was_set(engine: Simulator) -> None:
    engine.set(ttft_seconds=0.3, step_seconds=0.1, acceptance={"default": [1.0, 1.0, 1.0]})

    began = time.monotonic()
    ask(engine, max_tokens=9)
    seconds = time.monotonic() - began
    engine.set(ttft_seconds=0.004, step_seconds=0.002)

    # The first token, then two steps of four tokens.
    assert 0.5 <= seconds < 0.9


def test_a_hang_of_the_generation_leaves_the_health(engine: Simulator) -> None:
    engine.set(hang="generation")

    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask, engine)
        is_up = engine.is_up()
        engine.set(hang="")
        status, _ = asked.result()

    assert is_up
    assert status == 200


def test_a_hang_of_everything_leaves_only_the_control(engine: Simulator) -> None:
    engine.set(hang="everything")

    is_up = engine.is_up()
    engine.set(hang="")

    assert not is_up
    assert engine.is_up()


def test_a_client_that_goes_away_ends_its_request(engine: Simulator) -> None:
    engine.set(step_seconds=0.2)

    with pytest.raises(TimeoutError):
        ask(engine, max_tokens=400, timeout=0.5)

    deadline = time.monotonic() + 5
    while (state := engine.set())["unfinished"]:
        assert time.monotonic() < deadline, state
    engine.set(step_seconds=0.002)


def test_the_engine_says_what_it_is(engine: Simulator) -> None:
    state = engine.set()

    assert (state["drafter"], state["digest"]) == ("stock", "")
    assert state["pid"] == engine.process.pid


def test_an_unknown_setting_is_refused(engine: Simulator) -> None:
    with pytest.raises(ValueError, match=r"\['speed'\] cannot be set"):
        set_behaviour(engine.url, {"speed": 9})


def test_a_crash_is_sudden(tmp_path: Path) -> None:
    with running_simulator(tmp_path / "log", environment=FAST) as engine:
        engine.set(crash_after_seconds=0)

        assert engine.process.wait(5) == 1


def test_an_engine_can_crash_again_and_again_while_it_starts(tmp_path: Path) -> None:
    environment = {
        "SIMULATOR_START_SECONDS": "60",
        "SIMULATOR_CRASH_AFTER_SECONDS": "0.1",
    }
    with running_simulator(tmp_path / "log", environment=environment, wait=False) as engine:
        assert engine.process.wait(10) == 1


def test_a_slow_start_refuses_connections_until_it_is_over(tmp_path: Path) -> None:
    environment = {"SIMULATOR_START_SECONDS": "1"}
    began = time.monotonic()
    with running_simulator(tmp_path / "log", environment=environment):
        assert time.monotonic() - began > 1


def test_sigterm_while_starting_ends_as_an_interrupt(tmp_path: Path) -> None:
    log = tmp_path / "log"
    environment = {"SIMULATOR_START_SECONDS": "60"}
    with running_simulator(log, environment=environment, wait=False) as engine:
        deadline = time.monotonic() + 10
        while "starts" not in log.read_text():
            assert time.monotonic() < deadline, log.read_text()
        engine.process.send_signal(signal.SIGTERM)

        assert engine.process.wait(5) == -signal.SIGINT


def test_requests_are_finished_within_the_shutdown_timeout(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with running_simulator(log, "--shutdown-timeout", "10", environment=FAST) as engine:
        engine.set(step_seconds=0.1)
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(ask, engine, max_tokens=16)
            while not engine.set()["unfinished"]:
                pass
            engine.process.send_signal(signal.SIGTERM)
            status, body = asked.result()
        exit_code = engine.process.wait(5)

    assert (status, body["choices"][0]["finish_reason"], exit_code) == (200, "length", 0)


def test_settings_that_cannot_be_used_end_with_a_sentence(tmp_path: Path) -> None:
    log = tmp_path / "log"
    environment = {"SIMULATOR_ERROR_RATE": "2"}
    with running_simulator(log, environment=environment, wait=False) as engine:
        exit_code = engine.process.wait(10)

    assert exit_code == 2
    assert "error_rate is 2, expected a number from 0 to 1" in log.read_text()
