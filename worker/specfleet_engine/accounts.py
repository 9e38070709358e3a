"""What steps have done: counters of drafters, costs, proposers of requests, and the capture.

It is told of whole steps in their order, at the time they happen or later; times are given. Who
proposed in a step is told with it, because other weights may be live by then.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from specfleet_engine.capturing import Capture
from specfleet_engine.capturing import snapshot as captured
from specfleet_engine.costs import Costs
from specfleet_engine.counters import Counters
from specfleet_engine.proposing import Proposers
from specfleet_engine.step import Scheduled, Verified


class Accounts:
    """Sums over all steps since the engine started; `capture` is None where nothing is recorded."""

    def __init__(self, num_speculative_tokens: int, capture: Capture | None) -> None:
        self.capture = capture
        self._counters = Counters(num_speculative_tokens)
        self._costs = Costs()
        self._proposers = Proposers()
        self._began = 0.0
        self._scheduled: Scheduled | None = None

    def follows(self, request_id: str) -> bool:
        """Say whether the rows of a request are recorded."""
        return self.capture is not None and self.capture.follows(request_id)

    def step_begins(self, scheduled: Scheduled, *, at: float) -> None:
        """Take the beginning of a step, and what has happened to requests since the last one."""
        self._began = at
        self._costs.step_begins(scheduled, at=at)
        self._scheduled = scheduled if scheduled.request_ids else None
        for request_id in scheduled.finished:
            self._counters.forget(request_id)
            self._proposers.ends(request_id, at=time.monotonic())
        for request in scheduled.new:
            self._proposers.begins(request.id, request.external_id)
        if self.capture is not None:
            self.capture.step_begins(scheduled)

    def verified(self, batch: Verified, drafter: str, *, at: float) -> None:
        """Count what was accepted, and copy the followed rows; `drafter` is about to propose."""
        self._scheduled = None
        accepted = np.maximum(batch.sampled - 1, 0)
        self._counters.verified(batch.request_ids, batch.drafted, accepted, batch.sampled)
        self._counters.proposed(batch.request_ids, drafter)
        self._proposers.proposed(batch.request_ids, drafter)
        if self.capture is not None:
            self.capture.verified(batch)
        self._costs.verified(batch, at=at)

    def drafted(self, drafts: NDArray[np.int32], drafter: str, *, at: float) -> None:
        """Write the step's capture."""
        self._costs.drafted(at=at)
        if self.capture is not None:
            self.capture.drafted(drafts, drafter)

    def step_ends(self, drafter: str, *, at: float) -> None:
        """Add the step's time; a step without a draft leaves a gap in its requests."""
        if self._scheduled is not None:
            for request_id in self._scheduled.request_ids:
                self._counters.forget(request_id)
            if self.capture is not None:
                self.capture.skipped(self._scheduled.request_ids)
        self._counters.step_ends(drafter, at - self._began)
        self._costs.step_ends(at=at)

    @property
    def wants_plain(self) -> bool:
        """Return whether a step without drafts should tell how long one takes."""
        return self._costs.wants_plain

    def snapshot(self) -> Mapping[str, object]:
        """Return everything as plain values."""
        return {
            "capture": captured(self.capture),
            "drafters": self._counters.snapshot(),
            "costs": self._costs.snapshot(),
            "requests": self._proposers.snapshot(),
        }
