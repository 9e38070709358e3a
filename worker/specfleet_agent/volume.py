"""The files an agent works with, read as they are now: versions, orders, report, deltas, stock.

A file is hashed once and again only when another file stands in its place.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

import structlog
from pydantic import TypeAdapter

from specfleet_agent.situation import Files, LastStable
from specfleet_common import exchange
from specfleet_common.exchange import ExchangeError, Orders, TrainerReport, Walking, WalkReport
from specfleet_common.files import write_file
from specfleet_common.tensors import TensorError, content_digest_of_file
from specfleet_common.wire.messages import Evidence

log = structlog.get_logger()

STABLE = "stable.json"
"""The agent's own note for the time after its restart."""
WAITING = "waiting-evidence.json"
"""Evidence that could not be handed in yet, for the time after a restart."""
_VERSION = re.compile(r"version-(\d+)\.safetensors")
_DELTA = re.compile(r"delta-(\d+)\.bin")

Value = TypeVar("Value")


class _Reader(Generic[Value]):
    """Applies a function to files, once for every file that ever stands at a path."""

    def __init__(self, read: Callable[[Path], Value | None]) -> None:
        self._read = read
        self._known: dict[Path, tuple[tuple[int, int, int], Value | None]] = {}

    def __call__(self, path: Path) -> Value | None:
        """Return what the function makes of the file, None while there is none."""
        try:
            status = os.stat(path)
        except FileNotFoundError:
            self._known.pop(path, None)
            return None
        identity = (status.st_ino, status.st_mtime_ns, status.st_size)
        if path not in self._known or self._known[path][0] != identity:
            self._known[path] = (identity, self._read(path))
        return self._known[path][1]

    def forget_missing(self) -> None:
        """Drop what is known of files that are gone."""
        self._known = {path: known for path, known in self._known.items() if path.exists()}


class Volume:
    """The pod's own volume, and the directory that the engine shares."""

    def __init__(self, state: Path, shared: Path) -> None:
        self.state = state
        self.shared = shared
        self._digest = _Reader(_digest)
        # What cannot be read counts as not there: orders are written again, a report comes anew.
        self._orders = _Reader(_message_reader(Orders))
        self._report = _Reader(_message_reader(TrainerReport))
        self._walking = _Reader(_message_reader(Walking))
        self._walks = _Reader(_message_reader(WalkReport))
        self._stable = _Reader(_message_reader(LastStable))

    def read(self, *, stock_file: str | None) -> Files:
        """Return what lies there now; `stock_file` None means that no engine has named one."""
        self._digest.forget_missing()
        names = os.listdir(self.state)
        versions = {}
        for number, name in _numbered(names, _VERSION):
            digest = self._digest(self.state / name)
            if digest is not None:
                versions[number] = digest
        return Files(
            versions=versions,
            orders=self._orders(self.state / exchange.ORDERS),
            report=self._report(self.state / exchange.REPORT),
            stock_digest=None if stock_file is None else self._digest(self.shared / stock_file),
            deltas=frozenset(number for number, _ in _numbered(names, _DELTA)),
            stable=self._stable(self.state / STABLE),
            walking=self._walking(self.state / exchange.WALKING),
        )

    def report_stamp(self) -> int | None:
        """Return a number that changes whenever the trainer reports, None before the first."""
        try:
            return os.stat(self.state / exchange.REPORT).st_mtime_ns
        except FileNotFoundError:
            return None

    def write_orders(self, orders: Orders) -> None:
        """Tell the trainer what to do."""
        exchange.write_message(self.state / exchange.ORDERS, orders)

    def write_walking(self, walking: Walking | None) -> None:
        """Tell the trainer which heads to walk, None to walk none."""
        if walking is None:
            (self.state / exchange.WALKING).unlink(missing_ok=True)
        else:
            exchange.write_message(self.state / exchange.WALKING, walking)

    def walks(self) -> WalkReport | None:
        """Return what the trainer has walked, None before it has."""
        return self._walks(self.state / exchange.WALKS)

    def remember_stable(self, stable: LastStable) -> None:
        """Keep what is stable for the time after a restart."""
        write_file(self.state / STABLE, TypeAdapter(LastStable).dump_json(stable))

    def keep_waiting(self, waiting: tuple[Evidence, ...]) -> None:
        """Keep evidence for the time after a restart, and none when none waits."""
        path = self.state / WAITING
        if waiting:
            write_file(path, TypeAdapter(tuple[Evidence, ...]).dump_json(waiting))
        else:
            path.unlink(missing_ok=True)

    def waiting(self) -> tuple[Evidence, ...]:
        """Return the evidence that waited when the agent ended."""
        return _message_reader(tuple[Evidence, ...])(self.state / WAITING) or ()

    def remove(self, names: tuple[str, ...]) -> None:
        """Delete files of the state directory; one that is gone already is no failure."""
        for name in names:
            (self.state / name).unlink(missing_ok=True)


def _numbered(names: list[str], pattern: re.Pattern[str]) -> list[tuple[int, str]]:
    matches = [(pattern.fullmatch(name), name) for name in names]
    return [(int(match[1]), name) for match, name in matches if match is not None]


def _digest(path: Path) -> str | None:
    try:
        return content_digest_of_file(path)
    except FileNotFoundError:
        return None
    except TensorError as error:
        log.warning("file_is_not_safetensors", file=str(path), reason=str(error))
        return ""


def _message_reader(kind: type[Value]) -> Callable[[Path], Value | None]:
    def read(path: Path) -> Value | None:
        try:
            return exchange.read_message(path, kind)
        except ExchangeError as error:
            log.warning("message_unreadable", reason=str(error))
            return None

    return read
