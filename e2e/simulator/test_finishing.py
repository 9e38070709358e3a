"""What the frontend page of a simulated engine tells of requests that went wrong or took long."""

from __future__ import annotations

import time
from collections.abc import Iterator
from os import environ
from typing import Any

import pytest

from e2e.engines import Engine, running_engine
from e2e.simulator.replies import ask, completion
from e2e.simulator.running import set_behaviour, simulated

FAST = {"SIMULATOR_STEP_SECONDS": "0.002", "SIMULATOR_TTFT_SECONDS": "0.004"}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("simulator")
    with running_engine(folder, environment=simulated(environ) | FAST) as running:
        yield running


def served(engine: Engine, name: str, **fields: Any) -> dict[str, Any]:
    """Return what the frontend page tells of a request that is made now."""
    body = completion(ignore_eos=True, **fields)
    ask(engine, "/v1/completions", body, **{"X-Request-Id": name})
    deadline = time.monotonic() + 10
    while True:
        told: dict[str, dict[str, Any]] = {
            one["request"]: one for one in engine.frontend()["requests"]
        }
        if f"cmpl-{name}-0" in told:
            return told[f"cmpl-{name}-0"]
        assert time.monotonic() < deadline, told
        time.sleep(0.02)


def test_a_request_that_fails_is_told_of_as_failed(engine: Engine) -> None:
    set_behaviour(engine.url, {"error_rate": 1.0})

    told = served(engine, "fails")
    set_behaviour(engine.url, {"error_rate": 0.0})

    assert told["failed"]
    assert (told["ttft_seconds"], told["tpot_seconds"]) == (0.0, 0.0)
    assert "cmpl-fails-0" not in {one["request"] for one in engine.page()["requests"]}


def test_a_slow_drafter_shows_in_the_time_per_token(engine: Engine) -> None:
    usual = served(engine, "usual")
    set_behaviour(engine.url, {"drafter_seconds": {"stock": 0.05}})

    slow = served(engine, "slow")
    set_behaviour(engine.url, {"drafter_seconds": {}})

    assert slow["tpot_seconds"] > 2 * usual["tpot_seconds"]


def test_busy_seconds_are_those_that_steps_should_take(engine: Engine) -> None:
    set_behaviour(engine.url, {"acceptance": {"stock": [0.0]}, "step_seconds": 0.004})
    engine.counted()
    before = engine.page()["drafters"][0]["busy_seconds"]

    served(engine, "counted", max_tokens=25)
    engine.counted()
    seconds = engine.page()["drafters"][0]["busy_seconds"] - before
    set_behaviour(engine.url, {"acceptance": {}, "step_seconds": 0.002})

    assert seconds == pytest.approx(25 * 0.004)
