"""The trainer as a process: start it, look at it, end it. It decides nothing."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence

from specfleet_agent.memory import private_bytes


class TrainerProcess:
    """One trainer at a time, in a session of its own, so that it is ended with all it started."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._command = list(command)
        self._environment = dict(environment)
        self.handle: subprocess.Popen[bytes] | None = None

    def start(self) -> int:
        """Start it and return its process id; OSError when that cannot be done."""
        self.handle = subprocess.Popen(
            self._command,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        return self.handle.pid

    def ending(self) -> str | None:
        """Say how it ended, None while it runs."""
        if self.handle is None:
            return "not started"
        status = self.handle.poll()
        if status is None:
            return None
        return f"signal {-status}" if status < 0 else f"exit status {status}"

    def memory_bytes(self) -> int:
        """Return the memory that only its end would free, 0 when it does not run."""
        return 0 if self.handle is None else private_bytes(self.handle.pid)

    def kill(self) -> None:
        """End it and its descendants at once."""
        self._signal(signal.SIGKILL)

    def stop(self, *, grace_seconds: float) -> None:
        """Ask it to end, and kill it when it has not done so in time."""
        self._signal(signal.SIGTERM)
        if self.handle is None:
            return
        try:
            self.handle.wait(grace_seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            self.handle.wait()

    def _signal(self, number: signal.Signals) -> None:
        if self.handle is None or self.handle.poll() is not None:
            return
        os.killpg(self.handle.pid, number)
