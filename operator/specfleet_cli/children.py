"""Starts and ends one child process with everything it starts in turn, and tells the guard.

Linux only: process groups and pidfds. Never decides about restarts.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from specfleet_cli.guard import remove, shared_memory_of
from specfleet_common.reaping import reap

GROUP_GRACE_SECONDS = 3.0
POLL_SECONDS = 0.02

_FOLDER = Path(__file__).parent


class Guard:
    """A process that cleans up after this one, even when this one is killed."""

    def __init__(self) -> None:
        self._watched: dict[int, subprocess.Popen[bytes]] = {}
        # Isolated and without site-packages: it must start at once and never fail.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_FOLDER / "guard.py")],
            stdin=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def watch_directory(self, path: Path) -> None:
        """Remove the directory in the end."""
        self._tell({"directory": str(path)})

    def watch(self, leader: subprocess.Popen[bytes]) -> None:
        """End the process group of the leader in the end."""
        self._watched[leader.pid] = leader
        self._tell({"lives": leader.pid})

    def forget(self, group: int) -> None:
        """Leave the process group alone: it is gone, and its number may be another's soon."""
        del self._watched[group]
        self._tell({"gone": group})

    def reap(self) -> None:
        """Wait for ended orphans; exit codes of what is watched stay with whoever asks for them."""
        reap((self._process, *self._watched.values()))

    def finish(self) -> None:
        """Let it clean up now, and wait for that."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _tell(self, fact: Mapping[str, str | int]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(fact) + "\n")
        self._process.stdin.flush()


class Child:
    """A running process, leader of a session and process group of its own."""

    def __init__(self, process: subprocess.Popen[bytes], guard: Guard) -> None:
        self._process = process
        self._guard = guard
        self.pid = process.pid

    @classmethod
    def start(
        cls, command: Sequence[str], *, environment: Mapping[str, str], log: Path, guard: Guard
    ) -> Child:
        """Start the command with its output added to `log`.

        Call it in the main thread: the child is ended when the thread that started it ends.
        """
        launcher = [sys.executable, "-I", "-S", str(_FOLDER / "launcher.py"), str(os.getpid())]
        with log.open("ab") as output:
            process = subprocess.Popen(
                [*launcher, *command],
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        guard.watch(process)
        return cls(process, guard)

    async def wait(self) -> int:
        """Return the exit code once the process itself is gone, negative for a signal."""
        if (code := self._process.poll()) is not None:
            return code
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        descriptor = os.pidfd_open(self.pid)
        try:
            loop.add_reader(descriptor, ended.set)
            await ended.wait()
        finally:
            loop.remove_reader(descriptor)
            os.close(descriptor)
        return self._process.wait()

    async def stop(self, *, grace_seconds: float) -> None:
        """Ask the process to end, kill it when it does not, and end what it has left behind."""
        # Only the leader is asked: it knows in which order its own children have to go.
        self._process.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(self.wait(), grace_seconds)
        except TimeoutError:
            left = shared_memory_of(self.pid)
            self._process.kill()
            self._process.wait()
            remove(left)
        await self.end_group()

    async def end_group(self) -> None:
        """End what the process, itself gone, has left in its group."""
        if await self._outlives(signal.SIGTERM):
            left = shared_memory_of(self.pid)
            await self._outlives(signal.SIGKILL)
            remove(left)
        self._guard.forget(self.pid)

    async def _outlives(self, number: int) -> bool:
        """Send a signal to the group; say whether anything in it still lives after the grace."""
        deadline = time.monotonic() + GROUP_GRACE_SECONDS
        living = self._signal_group(number)
        while living and time.monotonic() < deadline:
            await asyncio.sleep(POLL_SECONDS)
            living = self._signal_group(0)
        return living

    def _signal_group(self, number: int) -> bool:
        """Send a signal to what lives in the group; say whether anything does."""
        self._reap_group()
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            return False
        return True

    def _reap_group(self) -> None:
        try:
            while os.waitpid(-self.pid, os.WNOHANG) != (0, 0):
                pass
        except ChildProcessError:
            return
