"""One optimiser step: AdamW in float32 on the depth-weighted cross-entropy of a batch.

The moments outlive a change of weights: a new global version starts with them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from specfleet_trainer.batch import Batch
from specfleet_trainer.checkpoint import Tables
from specfleet_trainer.heads import Head
from specfleet_trainer.loss import depth_losses, normalised

BETAS = (0.9, 0.95)
MAX_GRADIENT_NORM = 1.0


@dataclass(frozen=True, slots=True)
class StepResult:
    """What one step saw, before it changed the weights."""

    losses: tuple[float, ...]
    positions: int
    gradient_norm: float
    is_skipped: bool
    """The gradient is not finite: weights and moments are as they were."""


class TrainingStep:
    """Trains one head in place."""

    def __init__(
        self,
        head: Head,
        tables: Tables,
        *,
        learning_rate: float,
        depth_weights: Sequence[float],
    ) -> None:
        self.head = head
        self._tables = tables
        self._parameters = dict(head.named_parameters())
        self._optimizer = torch.optim.AdamW(
            self._parameters.values(), lr=learning_rate, betas=BETAS, weight_decay=0.0, fused=True
        )
        self.follow(learning_rate=learning_rate, depth_weights=depth_weights)

    @property
    def depths(self) -> int:
        """Return how many depths are trained."""
        return len(self._depth_weights)

    def follow(self, *, learning_rate: float, depth_weights: Sequence[float]) -> None:
        """Use these settings from the next step on."""
        self._depth_weights = torch.tensor(normalised(depth_weights))
        for group in self._optimizer.param_groups:
            group["lr"] = learning_rate

    def run(self, batch: Batch) -> StepResult:
        """Take one step down the gradient of the batch, unless it is not finite."""
        self._optimizer.zero_grad()
        losses = self._losses(batch)
        torch.autograd.backward(torch.dot(losses, self._depth_weights))
        norm = nn.utils.clip_grad_norm_(self._parameters.values(), MAX_GRADIENT_NORM).item()
        is_skipped = not math.isfinite(norm)
        if not is_skipped:
            self._optimizer.step()
        return StepResult(
            losses=tuple(losses.tolist()),
            positions=len(batch.queries),
            gradient_norm=norm,
            is_skipped=is_skipped,
        )

    @torch.no_grad()
    def losses(self, batch: Batch) -> tuple[float, ...]:
        """Return the loss of each depth without training."""
        return tuple(self._losses(batch).tolist())

    def moments(self) -> dict[str, dict[str, Tensor]]:
        """Return the optimiser's state of each parameter, empty before the first step."""
        state = self._optimizer.state
        return {name: dict(state[p]) for name, p in self._parameters.items() if p in state}

    def set_moments(self, moments: Mapping[str, Mapping[str, Tensor]]) -> None:
        """Go on with these moments, which `moments` returned."""
        self._optimizer.state.clear()
        for name, state in moments.items():
            self._optimizer.state[self._parameters[name]] = dict(state)

    def _losses(self, batch: Batch) -> Tensor:
        outputs = self.head.depth_outputs(batch, self._tables.embedding)
        return depth_losses(outputs, batch.labels, self._tables.lm_head)
