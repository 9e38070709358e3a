"""Real processes for tests: an agent with a fake trainer, and an aggregator."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from specfleet_common.api.testing import learning
from specfleet_common.files import write_file

DEADLINE_SECONDS = 30.0
NOBODY_LISTENS = "127.0.0.1:9"

Value = TypeVar("Value")


def eventually(
    look: Callable[[], Value | None],
    *,
    what: str,
    log: Callable[[], str] = str,
    seconds: float = DEADLINE_SECONDS,
) -> Value:
    """Return what `look` finds as soon as it is neither None nor False; a failure shows the log."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = look()
        if found is not None and found is not False:
            return found
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds:g} s: {what}\n{log()}")


def read(path: Path) -> str | None:
    """Return a file's text, None while there is none."""
    return path.read_text() if path.exists() else None


class AgentProcess:
    """One agent that can be started, looked at and ended."""

    def __init__(self, directory: Path, aggregator: str, *, serve: str = "Local") -> None:
        self.state = directory / "state"
        self.shared = directory / "shm"
        self.shared.mkdir(parents=True, exist_ok=True)
        self._log = directory / "agent.log"
        self._port_file = directory / "agent.port"
        self._environment = {
            "SPECFLEET_AGENT_AGGREGATOR": aggregator,
            "SPECFLEET_AGENT_WORKER_ID": "worker-1",
            "SPECFLEET_AGENT_SERVE": serve,
            "SPECFLEET_AGENT_STATE_DIRECTORY": str(self.state),
            "SPECFLEET_AGENT_SHM_DIRECTORY": str(self.shared),
            "SPECFLEET_AGENT_MODEL": str(directory / "model"),
            # The page of these tests' engine is written once.
            "SPECFLEET_AGENT_ENGINE_SILENCE_SECONDS": "3600",
            "SPECFLEET_AGENT_PORT_FILE": str(self._port_file),
            "SPECFLEET_AGENT_TRAINER_COMMAND": (
                f'["{sys.executable}", "-m", "specfleet_agent.tests.fake_trainer"]'
            ),
        }
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, **environment: str) -> None:
        """Start it, or start it again."""
        self._port_file.unlink(missing_ok=True)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "specfleet_agent"],
                env={**os.environ, **self._environment, **environment},
                stderr=log,
            )
        eventually(lambda: read(self._port_file), what="the agent listens", log=self.log)

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    def log(self) -> str:
        return read(self._log) or ""

    def get(self, path: str) -> tuple[int, str]:
        """Return status and body of one of its pages."""
        url = f"http://127.0.0.1:{self._port_file.read_text()}{path}"
        try:
            with urllib.request.urlopen(url, timeout=5) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def metric(self, sample: str) -> float | None:
        """Return the value of one sample, e.g. `name{label="x"}`."""
        for line in self.get("/metrics")[1].splitlines():
            name, _, value = line.rpartition(" ")
            if name == sample:
                return float(value)
        return None

    def resident_bytes(self) -> int:
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def peak_resident_bytes(self) -> int:
        """Return the most that has been resident since it started."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) << 10

    def children(self) -> dict[int, str]:
        """Return its children's ids and states; Z is a zombie."""
        found = {}
        for entry in Path("/proc").glob("[0-9]*/stat"):
            try:
                _, _, rest = entry.read_text().rpartition(")")
            except (FileNotFoundError, ProcessLookupError):
                continue
            state, parent = rest.split()[:2]
            if int(parent) == self.process.pid:
                found[int(entry.parent.name)] = state
        return found

    def trainer(self) -> int | None:
        """Return the trainer's process id, None while there is none alive."""
        return next((pid for pid, state in self.children().items() if state != "Z"), None)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """Ask it to end and return its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(DEADLINE_SECONDS)

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()


class AggregatorProcess:
    """One aggregator on a directory store; it keeps its port when it is started again."""

    def __init__(
        self, directory: Path, *, token_file: Path | None = None, **settings: object
    ) -> None:
        """`settings` are those of learning."""
        self.store = directory / "store"
        self.settings_file = directory / "settings.json"
        self._port_file = directory / "aggregator.port"
        self._log = directory / "aggregator.log"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        self._settings = {
            "FLEET": "fleet",
            "STORE_DIRECTORY": str(self.store),
            "PORT_FILE": str(self._port_file),
            "LISTEN": self.address,
            "SETTINGS_FILE": str(self.settings_file),
            **({} if token_file is None else {"TOKEN_FILE": str(token_file)}),
        }
        quick = {"heartbeat_seconds": 0.2, "depth_weights": (1.0, 0.5), "local_steps": 10}
        learns = learning(**{**quick, **settings})
        write_file(self.settings_file, learns.to_json().encode())
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> str:
        """Start it and return its address."""
        self._port_file.unlink(missing_ok=True)
        environment = {f"SPECFLEET_AGGREGATOR_{k}": v for k, v in self._settings.items()}
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "specfleet_aggregator"],
                env={**os.environ, **environment},
                stderr=log,
            )
        eventually(
            lambda: read(self._port_file), what="the aggregator listens", log=self._log.read_text
        )
        return self.address

    def kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = read(Path(f"/proc/{pid}/stat"))
    return stat is not None and stat.rpartition(")")[2].split()[0] != "Z"


@contextmanager
def closing_all(*things: AgentProcess | AggregatorProcess) -> Iterator[None]:
    """Kill what still runs at the end."""
    try:
        yield
    finally:
        for thing in things:
            if isinstance(thing, AgentProcess):
                thing.close()
            else:
                thing.kill()
