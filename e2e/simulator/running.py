"""Simulated engines as processes of this machine, and how a test reaches them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from specfleet_cli.place import free_ports

_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parent.parent
IMAGE = _HERE / "image"
"""The folder that stands in front of a real vLLM on the path of a simulated engine's process."""
MODEL = _ROOT / "examples/tiny-mimo"
START_SECONDS = 30.0
STOP_SECONDS = 15.0


class Simulator:
    """A running simulated engine."""

    def __init__(self, port: int, process: subprocess.Popen[bytes]) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.process = process

    def set(self, **behaviour: Any) -> dict[str, Any]:
        """Change the behaviour, see `e2e.simulator.behaviour`; return what the engine is now."""
        return set_behaviour(self.url, behaviour)

    def is_up(self) -> bool:
        """Say whether the engine answers."""
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=2):
                return True
        except OSError:
            return False


def simulated(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables to add to an environment, so that `vllm` is the simulator in it."""
    paths = (str(IMAGE), str(_ROOT), environment.get("PYTHONPATH", ""))
    return {"PYTHONPATH": os.pathsep.join(path for path in paths if path)}


def set_behaviour(url: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Change the behaviour of the simulated engine at `url`; ValueError when it refuses."""
    request = urllib.request.Request(f"{url}/simulator", json.dumps(dict(changes)).encode())
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            found: dict[str, Any] = json.load(reply)
            return found
    except urllib.error.HTTPError as error:
        with error:
            raise ValueError(json.load(error)["error"]["message"]) from error


@contextmanager
def running_simulator(
    log: Path, *arguments: str, environment: Mapping[str, str], wait: bool = True
) -> Iterator[Simulator]:
    """Run a simulated engine that shares no memory; `environment` is added to this process's."""
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(MODEL)]
    command += ["--served-model-name", "tiny", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--speculative-config", '{"method": "mtp", "num_speculative_tokens": 3}']
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, *arguments],
            env={**os.environ, **simulated(os.environ), **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        simulator = Simulator(port, process)
        deadline = time.monotonic() + START_SECONDS
        while wait and not simulator.is_up():
            alive = process.poll() is None and time.monotonic() < deadline
            assert alive, f"the simulator did not start:\n{log.read_text()[-4000:]}"
            time.sleep(0.05)
        yield simulator
    finally:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
        process.kill()
        process.wait()
