"""What each drafter has achieved in this engine; a draft belongs to who proposed it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from specfleet_common.lineage import LOCAL, STOCK

Counts = NDArray[np.int64]

KEPT_DRAFTERS = 32
"""An engine may see a new version every few minutes for months."""
EARLIER = "earlier"
"""The name under which the drafters that went longest unused are added up."""


class DrafterCounters:
    """Counters of one drafter since the engine started."""

    def __init__(self, num_speculative_tokens: int) -> None:
        self.verify_steps = 0
        self.drafted: Counts = np.zeros(num_speculative_tokens, np.int64)
        self.accepted: Counts = np.zeros(num_speculative_tokens, np.int64)
        self.output_tokens = 0
        self.busy_seconds = 0.0

    def add(self, other: DrafterCounters) -> None:
        """Add another drafter's counters to these."""
        self.verify_steps += other.verify_steps
        self.drafted += other.drafted
        self.accepted += other.accepted
        self.output_tokens += other.output_tokens
        self.busy_seconds += other.busy_seconds


class Counters:
    """The counters of all drafters, by name: `stock`, `local` or a version's digest."""

    def __init__(self, num_speculative_tokens: int) -> None:
        self._k = num_speculative_tokens
        self._drafters: dict[str, DrafterCounters] = {}
        self._proposed_by: dict[str, str] = {}

    def verified(
        self, request_ids: Sequence[str], drafted: Counts, accepted: Counts, sampled: Counts
    ) -> None:
        """Count one step: per request, how many tokens were drafted, accepted and put out."""
        rows_of: dict[str, list[int]] = {}
        verified = ((sampled > 0) & (drafted > 0)).nonzero()[0]
        for row in verified.tolist():
            drafter = self._proposed_by.get(request_ids[row])
            if drafter is not None:
                rows_of.setdefault(drafter, []).append(row)
        positions = np.arange(self._k)
        for drafter, rows in rows_of.items():
            counters = self.of(drafter)
            counters.verify_steps += len(rows)
            counters.drafted += (drafted[rows, None] > positions).sum(axis=0)
            counters.accepted += (accepted[rows, None] > positions).sum(axis=0)
            counters.output_tokens += int(sampled[rows].sum())

    def proposed(self, request_ids: Sequence[str], drafter: str) -> None:
        """Remember who proposed the drafts that the next step verifies."""
        self._proposed_by.update(dict.fromkeys(request_ids, drafter))

    def forget(self, request_id: str) -> None:
        """Drop what is remembered of a finished request."""
        self._proposed_by.pop(request_id, None)

    def busy(self, drafter: str, seconds: float) -> None:
        """Add the time of one step to the drafter that was live in it."""
        self.of(drafter).busy_seconds += seconds

    def of(self, drafter: str) -> DrafterCounters:
        """Return the counters of one drafter, from zero at its first use.

        Beyond a number of drafters, the one that went longest unused joins `earlier`, so that sums
        over all never fall.
        """
        counters = self._drafters.pop(drafter, None) or DrafterCounters(self._k)
        if len(self._drafters) >= KEPT_DRAFTERS:
            kept = (STOCK, LOCAL, EARLIER)
            oldest = next(name for name in self._drafters if name not in kept)
            forgotten = self._drafters.pop(oldest)
            self._drafters.setdefault(EARLIER, DrafterCounters(self._k)).add(forgotten)
        self._drafters[drafter] = counters
        return counters

    def snapshot(self) -> list[Mapping[str, object]]:
        """Return all counters as plain values."""
        return [
            {
                "digest": drafter,
                "verify_steps": counters.verify_steps,
                "drafted": counters.drafted.tolist(),
                "accepted": counters.accepted.tolist(),
                "output_tokens": counters.output_tokens,
                "busy_seconds": counters.busy_seconds,
            }
            for drafter, counters in list(self._drafters.items())
        ]
