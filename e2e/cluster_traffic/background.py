"""Traffic from the test's own process, in a thread, while the test does other things."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from e2e.cluster_traffic.driving import DOCUMENTS, Driving, Load
from e2e.cluster_traffic.records import Log, Record
from e2e.cluster_traffic.watching import Watch
from specfleet_cli.traffic.prompts import Document

POLL_SECONDS = 0.05


@contextmanager
def running_traffic(
    url: str, load: Load, documents: Sequence[Document] = DOCUMENTS
) -> Iterator[Watch]:
    """Send traffic for the time of a `with` block."""
    background = _Background(url, load, documents)
    try:
        yield Watch(background.log, poll_seconds=POLL_SECONDS)
    finally:
        background.stop()


class _Background:
    """A thread that sends requests."""

    def __init__(self, url: str, load: Load, documents: Sequence[Document]) -> None:
        self._records: list[Record] = []
        self._driving = Driving(url, load, emit=self._records.append, documents=documents)
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="traffic", daemon=True)
        self._thread.start()

    def log(self) -> Log:
        """Return what was recorded so far."""
        self._check()
        # In this order: what is settled was recorded before.
        settled = self._driving.settled()
        return Log(tuple(self._records), settled)

    def stop(self) -> None:
        """Send nothing more, and wait for what is under way."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._loop.close()
        self._check()

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._driving.drive(self._stop))
        except Exception as error:  # noqa: BLE001 - told to the test by its next call
            self._error = error

    def _check(self) -> None:
        if self._error is not None:
            raise RuntimeError(f"the traffic has ended: {self._error!r}") from self._error
