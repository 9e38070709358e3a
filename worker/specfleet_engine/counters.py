"""What each drafter has achieved in this engine.

A draft belongs to who proposed it. A step, with the time it took and all it put out, belongs to the
drafter that was live in it: so the tokens of a band are those of its busy seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specfleet_common.lineage import EARLIER, LOCAL, STOCK

Counts = NDArray[np.int64]

KEPT_DRAFTERS = 32
"""An engine may see a new version every few minutes for months."""


@dataclass(frozen=True, slots=True)
class Work:
    """What steps have done, the tokens of prefills included; never half a step."""

    verify_steps: int = 0
    output_tokens: int = 0
    busy_seconds: float = 0.0

    def __add__(self, other: Work) -> Work:
        return Work(
            self.verify_steps + other.verify_steps,
            self.output_tokens + other.output_tokens,
            self.busy_seconds + other.busy_seconds,
        )


class DrafterCounters:
    """Counters of one drafter since the engine started."""

    def __init__(self, num_speculative_tokens: int) -> None:
        self.used_at = 0
        self.verify_steps = 0
        self.drafted: Counts = np.zeros(num_speculative_tokens, np.int64)
        self.accepted: Counts = np.zeros(num_speculative_tokens, np.int64)
        self.output_tokens = 0
        self.busy_seconds = 0.0
        self.bands: dict[int, Work] = {}
        """By batch band: how many binary digits the number of requests in the step has."""

    def add(self, other: DrafterCounters) -> None:
        """Add another drafter's counters to these."""
        self.verify_steps += other.verify_steps
        self.drafted += other.drafted
        self.accepted += other.accepted
        self.output_tokens += other.output_tokens
        self.busy_seconds += other.busy_seconds
        for band, work in other.bands.items():
            self.did(band, work)

    def did(self, band: int, work: Work) -> None:
        """Add what a step did."""
        self.bands[band] = self.bands.get(band, Work()) + work


class Counters:
    """The counters of all drafters, by name: `stock`, `local` or a version's digest."""

    def __init__(self, num_speculative_tokens: int) -> None:
        self._k = num_speculative_tokens
        self._drafters: dict[str, DrafterCounters] = {}
        self._uses = 0
        self._proposed_by: dict[str, str] = {}
        self._verified: tuple[int, int, int] | None = None
        """Requests, verify steps and tokens of the step under way; None before they are known."""

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
        self._verified = len(request_ids), len(verified), int(sampled.sum())

    def proposed(self, request_ids: Sequence[str], drafter: str) -> None:
        """Remember who proposed the drafts that the next step verifies."""
        self._proposed_by.update(dict.fromkeys(request_ids, drafter))

    def forget(self, request_id: str) -> None:
        """Drop what is remembered of a request that has no draft any more."""
        self._proposed_by.pop(request_id, None)

    def step_ends(self, drafter: str, seconds: float) -> None:
        """Add the time of one step to the drafter that was live in it, with what it did.

        A step in which the drafter did not run is in no band: what it put out is not known.
        """
        counters = self.of(drafter)
        counters.busy_seconds += seconds
        verified, self._verified = self._verified, None
        if verified is not None:
            requests, verify_steps, tokens = verified
            counters.did(requests.bit_length(), Work(verify_steps, tokens, seconds))

    def of(self, drafter: str) -> DrafterCounters:
        """Return the counters of one drafter, from zero at its first use.

        Beyond a number of drafters, the one that went longest unused joins `earlier`, so that sums
        over all never fall.
        """
        counters = self._drafters.get(drafter)
        if counters is None:
            if len(self._drafters) >= KEPT_DRAFTERS:
                self._merge_oldest()
            counters = self._drafters[drafter] = DrafterCounters(self._k)
        self._uses += 1
        counters.used_at = self._uses
        return counters

    def _merge_oldest(self) -> None:
        kept = (STOCK, LOCAL, EARLIER)
        names = [name for name in self._drafters if name not in kept]
        oldest = min(names, key=lambda name: self._drafters[name].used_at)
        forgotten = self._drafters.pop(oldest)
        self._drafters.setdefault(EARLIER, DrafterCounters(self._k)).add(forgotten)

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
                "bands": [
                    {
                        "band": band,
                        "verify_steps": work.verify_steps,
                        "output_tokens": work.output_tokens,
                        "busy_seconds": work.busy_seconds,
                    }
                    for band, work in sorted(counters.bands.items())
                ],
            }
            for drafter, counters in list(self._drafters.items())
        ]
