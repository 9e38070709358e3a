"""Running traffic as a test sees it: marks are set, and windows between them are asked for.

It does not matter where the traffic comes from; `background` says how it is read.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from e2e.cluster_traffic.records import Log
from e2e.cluster_traffic.windows import FIRST, Mark, Unsettled, Window, windows

PATIENCE_SECONDS = 180.0
"""Requests have a timeout of their own; when they take longer, the driver itself has a problem."""


class Watch:
    """Traffic that `read` tells about, from now on."""

    def __init__(self, read: Callable[[], Log], *, poll_seconds: float) -> None:
        self._read = read
        self._poll_seconds = poll_seconds
        self._marks = [Mark(FIRST, time.time())]

    def mark(self, name: str) -> None:
        """Say that something happens now: the next window begins, and has this name."""
        self._marks.append(Mark(name, time.time()))

    def windows(self) -> tuple[Window, ...]:
        """Return the windows up to now, when all that was sent until now has ended."""
        until = time.time()
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (log := self._read()).settled < until:
            if time.monotonic() >= deadline:
                raise Unsettled(f"requests are under way since {log.settled:.3f}, now {until:.3f}")
            time.sleep(self._poll_seconds)
        return windows(log, self._marks, until=until)

    def window(self, name: str) -> Window:
        """Return the window that began with the mark of this name."""
        return next(one for one in self.windows() if one.name == name)

    def until(self, *, requests: int = 0, failures: int = 0, seconds: float) -> None:
        """Wait until so many requests that begin from now on are answered, and so many have failed.

        Unsettled when that takes longer.
        """
        began = time.time()
        deadline = time.monotonic() + seconds
        while True:
            ended = [record for record in self._read().records if record.began >= began]
            failed = sum(bool(record.failure) for record in ended)
            answered = len(ended) - failed
            if answered >= requests and failed >= failures:
                return
            if time.monotonic() >= deadline:
                raise Unsettled(
                    f"{answered} requests were answered and {failed} failed in {seconds:g} s, "
                    f"expected {requests} and {failures}"
                )
            time.sleep(self._poll_seconds)
