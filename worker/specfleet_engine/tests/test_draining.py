"""How long an engine that has to go is waited for."""

from __future__ import annotations

import http.server
import math
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from specfleet_common.shm.names import DRAINING_FILE
from specfleet_engine.draining import (
    FORGET_SECONDS,
    IDLE_SECONDS,
    Drain,
    drain,
    end_reason,
    num_requests,
    read_requests,
    seen,
)

METRICS = b"""# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 2.0
vllm:num_requests_waiting{engine="0",model_name="m"} 1.0
vllm:num_requests_waiting_by_reason{engine="0",reason="capacity"} 7.0
vllm:num_preemptions_total{engine="0",model_name="m"} 9.0
"""


@contextmanager
def engine(body: bytes, status: int = 200) -> Iterator[int]:
    """Run an engine whose metrics say this, and give its port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def run(*readings: float | None, seconds: float = 60.0) -> tuple[str, float]:
    """Drain an engine with these readings, a quarter of a second apart, the last for ever."""
    now, left = [0.0], list(readings)

    def wait(pause: float) -> bool:
        now[0] += pause
        return False

    reason = drain(
        lambda: left.pop(0) if len(left) > 1 else left[0],
        seconds=seconds,
        clock=lambda: now[0],
        wait=wait,
    )
    return reason, now[0]


def test_running_and_waiting_requests_of_all_ranks_count() -> None:
    more = METRICS + b'vllm:num_requests_running{engine="1",model_name="m"} 4.0\n'

    assert num_requests(METRICS) == 3
    assert num_requests(more) == 7


def test_metrics_of_something_else_say_nothing() -> None:
    assert num_requests(b"python_info 1.0\n") is None


def test_an_idle_engine_is_left_the_time_in_which_routers_forget_it() -> None:
    reason, seconds = run(0)

    assert reason == "no request is left"
    assert seconds == max(FORGET_SECONDS, IDLE_SECONDS)


def test_an_engine_with_requests_is_waited_for() -> None:
    reason, seconds = run(*[3.0] * 100, 0)

    assert reason == "no request is left"
    assert 25.0 <= seconds - IDLE_SECONDS <= 26.0


def test_a_request_that_comes_late_is_waited_for_as_well() -> None:
    _, seconds = run(*[0.0] * 19, 1, 1, 1, 0)

    assert seconds > FORGET_SECONDS


def test_waiting_ends_when_the_time_is_up() -> None:
    reason, seconds = run(1, seconds=30)

    assert (reason, seconds) == ("the time of 30 s is up", 30.0)


def test_an_engine_that_is_gone_is_not_waited_for() -> None:
    reason, seconds = run(1, None, seconds=300)

    assert reason == "there is no engine any more"
    assert seconds <= FORGET_SECONDS + 1


def test_one_look_without_an_answer_ends_nothing() -> None:
    drain_ = seen(Drain(60.0), requests=None, at=10.0)

    assert end_reason(drain_, at=10.0) is None


def test_the_engine_is_asked_by_http() -> None:
    with engine(METRICS) as port:
        assert read_requests(port) == 3


@pytest.mark.parametrize(("body", "status"), [(b"", 200), (METRICS, 503)])
def test_an_engine_that_does_not_say_may_have_any_number(body: bytes, status: int) -> None:
    with engine(body, status) as port:
        assert read_requests(port) == math.inf


def test_no_engine_is_none() -> None:
    with engine(METRICS) as port:
        pass

    assert read_requests(port) is None


def command(port: int, seconds: float, directory: Path) -> list[str]:
    program = [sys.executable, "-m", "specfleet_engine.draining"]
    return [*program, "--port", str(port), "--seconds", str(seconds), "--directory", str(directory)]


def test_the_command_ends_well_when_the_time_is_up(tmp_path: Path) -> None:
    with engine(METRICS) as port:
        done = subprocess.run(
            command(port, 0.1, tmp_path),
            check=True,
            capture_output=True,
            text=True,
        )

    assert done.stdout == "specfleet: drained: the time of 0.1 s is up\n"
    assert (tmp_path / DRAINING_FILE).exists()


def test_the_command_does_without_the_engines_directory(tmp_path: Path) -> None:
    with engine(METRICS) as port:
        done = subprocess.run(command(port, 0.1, tmp_path / "absent"), check=False)

    assert done.returncode == 0


def test_the_command_waits_though_it_cannot_tell_the_engine(tmp_path: Path) -> None:
    no_directory = tmp_path / "file"
    no_directory.touch()
    with engine(METRICS) as port:
        done = subprocess.run(
            command(port, 0.1, no_directory), check=True, capture_output=True, text=True
        )

    assert done.stdout.splitlines() == [
        f"specfleet: {no_directory / DRAINING_FILE}: cannot be written: Not a directory",
        "specfleet: drained: the time of 0.1 s is up",
    ]


def test_the_command_ends_well_at_once_when_it_is_told_to(tmp_path: Path) -> None:
    with engine(METRICS) as port:
        process = subprocess.Popen(command(port, 600, tmp_path), stdout=subprocess.PIPE, text=True)
        _await_handler(process.pid, signal.SIGTERM)
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=30)

    assert (process.returncode, said) == (0, "specfleet: drained: told to stop\n")


def _await_handler(pid: int, number: int) -> None:
    """Wait until the process has a handler of its own for the signal."""
    deadline = time.monotonic() + 30
    caught = 0
    while not caught >> (number - 1) & 1:
        assert time.monotonic() < deadline, f"process {pid} handles no signal {number}"
        status = Path(f"/proc/{pid}/status").read_text()
        caught = int(status.split("SigCgt:")[1].split()[0], 16)
        time.sleep(0.01)
