"""What a model-runner adapter tells about each step: the seam between vLLM and the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from specfleet_engine.following import NewRequest


@dataclass(frozen=True, slots=True)
class Scheduled:
    """What the scheduler wants from this step."""

    new: Sequence[NewRequest]
    finished: Sequence[str]
    request_ids: Sequence[str]
    """Requests with tokens in this step; empty when it only brings news."""
    num_tokens: int
    """Of all requests together, drafts and prompts included."""


@dataclass(frozen=True, slots=True)
class Verified:
    """A step after verification, as the drafter is about to see it: R requests, N rows.

    Row n is one token of one request: `tokens[n]` at `positions[n]`, with the target's hidden state
    `hidden[n]` in the form the family declares. The rows `first[r]` to `last[r]` of request r are
    verified; later ones were rejected. `next_tokens[r]` is what the drafter gets as the token after
    `last[r]`; while a prefill goes on (`sampled[r]` = 0) that need not be the true one.
    """

    request_ids: Sequence[str]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    drafted: NDArray[np.int64]
    sampled: NDArray[np.int64]
    tokens: NDArray[np.int32]
    positions: NDArray[np.int64]
    next_tokens: NDArray[np.int32]
    hidden: NDArray[Any]


class StepObserver(Protocol):
    """Gets every step in this order; without a draft, `verified` and `drafted` are missing."""

    def step_begins(self, scheduled: Scheduled) -> None:
        """Hold weights still until `step_ends`; the last step is over."""

    def verified(self, batch: Verified) -> None:
        """See the verified rows; arrays are valid only during the call."""

    def drafted(self, drafts: NDArray[np.int32]) -> None:
        """See the draft of each request of the batch, [R, K]."""

    def step_ends(self) -> None:
        """Weights may change from here on."""
