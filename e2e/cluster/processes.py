"""Starts the programs of a cluster, each with a log, and ends them in reverse order.

A program also ends when the process that started it is gone, however that ended.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

_STOP_SECONDS = 10.0
_TAIL_LINES = 20


class ProgramFailed(RuntimeError):
    """A program of the cluster ended, or did not get ready; the message has the end of its log."""


class Programs:
    """What runs; `directory` gets a log for each."""

    def __init__(self, directory: Path, environment: Mapping[str, str]) -> None:
        self._directory = directory
        self._environment = dict(environment)
        self._running: list[tuple[str, subprocess.Popen[bytes]]] = []

    def start(self, name: str, command: Sequence[str | Path]) -> subprocess.Popen[bytes]:
        """Start a program in the background."""
        with self._log(name).open("ab") as log:
            process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *map(str, command)],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # A Ctrl-C is for the tests, which then end these one after the other.
                start_new_session=True,
            )
        self._running.append((name, process))
        return process

    def wait_until(
        self, name: str, is_ready: Callable[[], bool], *, seconds: float, poll_seconds: float = 0.1
    ) -> None:
        """Wait for a program that was started; ProgramFailed when it ends or takes too long."""
        process = dict(self._running)[name]
        deadline = time.monotonic() + seconds
        while not is_ready():
            if process.poll() is not None:
                raise ProgramFailed(f"{name} ended with {process.returncode}\n{self._tail(name)}")
            if time.monotonic() > deadline:
                raise ProgramFailed(f"{name} not ready in {seconds:.0f} s\n{self._tail(name)}")
            time.sleep(poll_seconds)

    def stop(self) -> None:
        """End everything, the newest first."""
        while self._running:
            self.end(self._running[-1][0])

    def end(self, name: str) -> None:
        """End one program, by force when it does not listen."""
        process = dict(self._running)[name]
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._running = [entry for entry in self._running if entry[0] != name]

    def _log(self, name: str) -> Path:
        return self._directory / f"{name}.log"

    def _tail(self, name: str) -> str:
        lines = self._log(name).read_text(errors="replace").splitlines()
        return "\n".join(lines[-_TAIL_LINES:])


@contextmanager
def running_programs(directory: Path, environment: Mapping[str, str]) -> Iterator[Programs]:
    """Let the block start programs, which end with it."""
    programs = Programs(directory, environment)
    try:
        yield programs
    finally:
        programs.stop()
