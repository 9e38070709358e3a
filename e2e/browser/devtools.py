"""Speaks the DevTools protocol with a browser over a pair of pipes.

Messages are JSON objects that end with a zero byte (`--remote-debugging-pipe`), so neither a port
nor a library is needed.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ANSWER_WITHIN_SECONDS = 180.0
END_WITHIN_SECONDS = 20.0

_OPTIONS = (
    "--headless",
    "--remote-debugging-pipe",
    # Containers allow no namespaces of their own; the pages are ours.
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--hide-scrollbars",
    "--font-render-hinting=none",
)
_READ_BYTES = 1 << 20

Message = dict[str, Any]


class BrowserError(RuntimeError):
    """The browser has ended, is silent, or refuses a command; the message says which."""


class Connection:
    """One running browser; `session` of a command names a page, none the browser itself."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._input, self._output = process.stdin, process.stdout
        self._log = log
        self._last_id = 0
        self._rest = b""
        self._events: list[Message] = []

    def command(self, method: str, *, session: str = "", **parameters: Any) -> Message:
        """Return what a command answers; events that come meanwhile are kept."""
        self._last_id += 1
        message: Message = {"id": self._last_id, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        self._input.write(json.dumps(message).encode() + b"\0")
        self._input.flush()
        deadline = time.monotonic() + ANSWER_WITHIN_SECONDS
        while True:
            answer = self._next(method, deadline)
            if answer.get("id") == self._last_id:
                break
            self._events.append(answer)
        if "error" in answer:
            raise BrowserError(f"{method} is refused: {answer['error']['message']}")
        result: Message = answer["result"]
        return result

    def until(self, method: str, *, session: str) -> None:
        """Return once a page has told of an event, now or since it was last asked for events."""
        deadline = time.monotonic() + ANSWER_WITHIN_SECONDS
        while not any(_is_event(one, method, session) for one in self._events):
            self._events.append(self._next(method, deadline))

    def take_events(self, session: str) -> list[Message]:
        """Return the events of a page that were not taken yet, oldest first."""
        mine = [one for one in self._events if one.get("sessionId") == session]
        self._events = [one for one in self._events if one.get("sessionId") != session]
        return mine

    def _next(self, awaited: str, deadline: float) -> Message:
        while b"\0" not in self._rest:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._output], [], [], left)[0]:
                raise BrowserError(f"{awaited}: nothing came in {ANSWER_WITHIN_SECONDS:.0f} s")
            data = os.read(self._output.fileno(), _READ_BYTES)
            if not data:
                last = self._log.read_text(encoding="utf-8", errors="replace")[-2000:]
                raise BrowserError(f"{awaited}: the browser has ended. Its last words: {last}")
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\0")
        message: Message = json.loads(line)
        return message


@contextmanager
def connected(program: str) -> Iterator[Connection]:
    """Run a browser with an empty profile for the time of a `with` block."""
    with tempfile.TemporaryDirectory(prefix="specfleet-browser-") as folder:
        log = Path(folder, "log")
        # The browser reads commands from its file 3 and writes answers to its file 4.
        shell = ["sh", "-c", 'exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null']
        options = (*_OPTIONS, f"--user-data-dir={folder}/profile", "about:blank")
        with log.open("wb") as errors:
            process = subprocess.Popen(
                [*shell, program, *options],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                bufsize=0,
                env={**os.environ, "HOME": folder},
            )
        with process:
            try:
                connection = Connection(process, log)
                yield connection
                connection.command("Browser.close")
            finally:
                _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(END_WITHIN_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


def _is_event(message: Message, method: str, session: str) -> bool:
    return message.get("method") == method and message.get("sessionId") == session
