"""What a model-runner adapter tells about each step: the seam between vLLM and the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from specfleet_engine.following import NewRequest

if TYPE_CHECKING:
    import torch


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
class Batch:
    """What this machine knows of a step before its device has done it: R requests."""

    request_ids: Sequence[str]
    starts: NDArray[np.int64]
    """The rows `starts[r]` to `starts[r + 1]` are those of request r."""
    drafted: NDArray[np.int64]
    unfinished: NDArray[np.bool_]
    """Requests whose prefill goes on after this step: the target put out no token of theirs."""

    def sampled(self, rejected: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many tokens of each request the target put out."""
        return np.where(self.unfinished, 0, self.drafted + 1 - rejected)


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a runner gives its drafter: N rows of R requests, where the runner has them.

    The tensors are the runner's own memory, which it uses again.
    """

    batch: Batch
    tokens: torch.Tensor
    positions: torch.Tensor
    next_tokens: torch.Tensor
    hidden: torch.Tensor
    rejected: torch.Tensor | None
    """How many of each request's last rows were rejected; None in a step without drafts."""


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


class RunnerObserver(Protocol):
    """Gets every step in this order; without a draft, `verified` and `drafted` are missing."""

    def step_begins(self, scheduled: Scheduled) -> None:
        """Exchange weights if others are ready; from here on they stay."""

    def verified(self, proposal: Proposal) -> None:
        """See what the drafter is about to see; tensors are valid only during the call."""

    def drafted(self, drafts: torch.Tensor) -> None:
        """See the draft of each request of the batch, [R, K]."""

    def step_ends(self) -> None:
        """Weights may change from here on."""

    @property
    def wants_plain(self) -> bool:
        """Return whether the drafts of the step that ended are to be left out of the next."""

    def fail(self, error: Exception) -> None:
        """Stop adapting: something above failed, and is not called again."""
