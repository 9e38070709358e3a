"""An engine that is taken out of its Service under traffic and then stopped fails nobody."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from e2e.cluster_traffic.background import running_traffic
from e2e.cluster_traffic.balancing import balanced
from e2e.cluster_traffic.driving import Load
from e2e.cluster_traffic.judging import assert_no_failures, assert_same_answers
from e2e.simulator.running import Simulator, running_simulator
from specfleet_common.shm.names import DRAINING_FILE

MIDDLEWARE = ("--middleware", "specfleet_engine.closing.CloseWhileDraining")
DRAIN_SECONDS = 20.0
IDLE_SECONDS = 1.0
LOAD = Load(clients=6, max_tokens=24)


@pytest.fixture
def engines(tmp_path: Path) -> Iterator[tuple[Simulator, Simulator]]:
    with ExitStack() as stack:
        one, other = (
            stack.enter_context(
                running_simulator(
                    tmp_path / f"{name}.log",
                    *MIDDLEWARE,
                    environment={
                        "SIMULATOR_STEP_SECONDS": "0.01",
                        "SPECFLEET_ENGINE_SHM_DIRECTORY": str(tmp_path / name),
                        "SPECFLEET_ENGINE_FLEET": "e2e",
                        "SPECFLEET_ENGINE_RING_BYTES": "65536",
                    },
                )
            )
            for name in ("one", "other")
        )
        yield one, other


def is_idle(engine: Simulator, *, seconds: float) -> bool:
    """Say whether the engine comes to have no request for a while."""
    deadline = time.monotonic() + seconds
    idle_since = time.monotonic()
    while time.monotonic() < deadline:
        if engine.set()["unfinished"]:
            idle_since = time.monotonic()
        elif time.monotonic() - idle_since >= IDLE_SECONDS:
            return True
        time.sleep(0.05)
    return False


def test_clients_with_connections_of_their_own_leave_a_draining_engine(
    engines: tuple[Simulator, Simulator], tmp_path: Path
) -> None:
    going, staying = engines
    with (
        balanced([going.port, staying.port]) as service,
        running_traffic(service.url, LOAD) as driver,
    ):
        driver.until(requests=30, seconds=30)
        driver.mark("drain")
        service.set([staying.port])
        (tmp_path / "one" / DRAINING_FILE).touch()
        drained = is_idle(going, seconds=DRAIN_SECONDS)
        driver.mark("stopped")
        going.process.send_signal(signal.SIGTERM)
        exit_code = going.process.wait(10)
        driver.until(requests=30, seconds=30)
        windows = driver.windows()

    assert drained
    assert exit_code == 0
    for window in windows:
        assert_no_failures(window, minimum=10)
        assert_same_answers(window)


def test_without_being_told_they_stay_as_long_as_they_have_something_to_ask(
    engines: tuple[Simulator, Simulator],
) -> None:
    """What the middleware is for: taking the engine out of the Service is not enough."""
    going, staying = engines
    with (
        balanced([going.port, staying.port]) as service,
        running_traffic(service.url, LOAD) as driver,
    ):
        driver.until(requests=30, seconds=30)
        service.set([staying.port])

        assert not is_idle(going, seconds=5.0)
