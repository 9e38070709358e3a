"""Steps of a runner whose tensors lie in this machine's memory: told as soon as they happen."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from specfleet_engine.session import Session
from specfleet_engine.step import Proposal, Scheduled, Verified


class AtOnce:
    """A `RunnerObserver` that hands everything to a session without a copy."""

    def __init__(self, session: Session[Any]) -> None:
        self.session = session

    def step_begins(self, scheduled: Scheduled) -> None:
        """Tell the session."""
        self.session.step_begins(scheduled)

    def verified(self, proposal: Proposal) -> None:
        """Tell the session of all rows."""
        batch, given = proposal.batch, proposal.rejected
        rejected = (
            np.zeros(len(batch.request_ids), np.int64)
            if given is None
            else given.to(torch.int64).numpy()
        )
        self.session.verified(
            Verified(
                request_ids=batch.request_ids,
                first=batch.starts[:-1],
                last=batch.starts[1:] - 1 - rejected,
                drafted=batch.drafted,
                sampled=batch.sampled(rejected),
                tokens=proposal.tokens.to(torch.int32).numpy(),
                positions=proposal.positions.numpy(),
                next_tokens=proposal.next_tokens.to(torch.int32).numpy(),
                hidden=as_array(proposal.hidden),
            )
        )

    def drafted(self, drafts: torch.Tensor) -> None:
        """Tell the session."""
        self.session.drafted(drafts.to(torch.int32).numpy())

    def step_ends(self) -> None:
        """Tell the session."""
        self.session.step_ends()

    @property
    def wants_plain(self) -> bool:
        """Ask the session."""
        return self.session.accounts.wants_plain

    def fail(self, error: Exception) -> None:
        """Tell the session."""
        self.session.fail(error)


def as_array(hidden: torch.Tensor) -> NDArray[Any]:
    """Return hidden states as an array; numpy has no bfloat16, so those come as their bits."""
    return (hidden.view(torch.int16) if hidden.dtype == torch.bfloat16 else hidden).numpy()
