"""Which drafters proposed for which request: kept until it ends, and of the newest for a while.

Latencies of a request say something of a drafter only where no other proposed for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from specfleet_engine.request_names import page_name

KEPT_REQUESTS = 256
"""What a busy engine finishes within many times the period at which the page is read."""
MOST_DRAFTERS = 4
"""A request for which so many proposed is no one's; it needs no more room than that."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A request that has ended; `at` is of the machine's monotonic clock."""

    at: float
    drafters: frozenset[str]


class Proposers:
    """Drafters by request. On the page a request has the name by which the API server knows it."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._drafters: dict[str, set[str]] = {}
        self._ended: dict[str, Ended] = {}

    def begins(self, request_id: str, external_id: str) -> None:
        """Take a new request."""
        self._names[request_id] = page_name(external_id)
        self._drafters[request_id] = set()

    def proposed(self, request_ids: Sequence[str], drafter: str) -> None:
        """Take note of who proposed for these requests."""
        for request_id in request_ids:
            drafters = self._drafters.get(request_id)
            if drafters is not None and len(drafters) < MOST_DRAFTERS:
                drafters.add(drafter)

    def ends(self, request_id: str, *, at: float) -> None:
        """Move a request to those that have ended; one that never began is left out.

        Several answers to one request share its name: then all that proposed for any count for it.
        """
        name = self._names.pop(request_id, None)
        if name is None:
            return
        drafters = frozenset(self._drafters.pop(request_id))
        before = self._ended.pop(name, None)
        if before is not None:
            drafters |= before.drafters
        if len(self._ended) >= KEPT_REQUESTS:
            del self._ended[next(iter(self._ended))]
        self._ended[name] = Ended(at, drafters)

    def snapshot(self) -> list[Mapping[str, object]]:
        """Return the newest requests that have ended, the oldest first, as plain values."""
        return [
            {"request": name, "ended": round(one.at, 6), "digests": sorted(one.drafters)}
            for name, one in list(self._ended.items())
        ]
