"""One optimiser step: AdamW in float32 on the depth-weighted cross-entropy of a batch.

The moments outlive a change of weights: a new global version starts with them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from specfleet_trainer.batch import NO_LABEL, Batch
from specfleet_trainer.checkpoint import Tables
from specfleet_trainer.depth_weights import dpace_weights, fixed_weights, normalised
from specfleet_trainer.heads import Head
from specfleet_trainer.logits import top_tokens
from specfleet_trainer.loss import cross_entropy
from specfleet_trainer.restricted import (
    Candidates,
    Frequencies,
    Sampling,
    draw_candidates,
    restricted_cross_entropy,
)

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
    """Trains one head in place.

    It computes in the type of the `tables`, with weights and moments in float32. With a `sampling`
    the loss of a step is over a part of the vocabulary, and batches need their rows' own tokens:
    those that are UNKNOWN are looked for, and written into the batch. `seed` is that of the draws,
    which a restart begins anew. `through_chain` does not stop the gradient between depths.
    """

    def __init__(
        self,
        head: Head,
        tables: Tables,
        *,
        learning_rate: float,
        depth_weights: Sequence[float],
        dpace: bool = False,
        sampling: Sampling | None = None,
        seed: int = 0,
        through_chain: bool = False,
    ) -> None:
        self.head = head
        self.tables = tables
        self.sampling = sampling
        self._frequencies = Frequencies(len(tables.lm_head))
        self._random = np.random.default_rng(seed)
        self._through_chain = through_chain
        self._parameters = dict(head.named_parameters())
        self._optimizer = torch.optim.AdamW(
            self._parameters.values(), lr=learning_rate, betas=BETAS, weight_decay=0.0, fused=True
        )
        self.follow(learning_rate=learning_rate, depth_weights=depth_weights, dpace=dpace)

    @property
    def depths(self) -> int:
        """Return how many depths are trained."""
        return len(self._depth_weights)

    def follow(
        self, *, learning_rate: float, depth_weights: Sequence[float], dpace: bool = False
    ) -> None:
        """Use these settings from the next step on; `dpace` says how many depths there are only."""
        self._depth_weights = normalised(depth_weights)
        self._dpace = dpace
        for group in self._optimizer.param_groups:
            group["lr"] = learning_rate

    def run(self, batch: Batch) -> StepResult:
        """Take one step down the gradient of the batch, unless it is not finite."""
        labelled = batch.labels != NO_LABEL
        losses = self._losses(batch, self._candidates(batch))
        if self._dpace:
            weights = dpace_weights(losses, labelled)
        else:
            weights = fixed_weights(labelled, self._depth_weights)
        torch.autograd.backward((losses * weights).sum())
        gradients = [p.grad for p in self._parameters.values() if p.grad is not None]
        norm = total_norm(gradients)
        is_skipped = not math.isfinite(norm)
        if not is_skipped:
            # The fused optimiser divides gradients by this as it reads them.
            self._optimizer.grad_scale = (norm / MAX_GRADIENT_NORM).clamp(min=1.0)  # type: ignore[attr-defined]
            self._optimizer.step()
        # Gradients take as much memory as the weights; what is done between steps can use it.
        self._optimizer.zero_grad()
        return StepResult(
            losses=_means(losses, labelled),
            positions=len(batch.queries),
            gradient_norm=norm.item(),
            is_skipped=is_skipped,
        )

    @torch.no_grad()
    def losses(self, batch: Batch) -> tuple[float, ...]:
        """Return the loss of each depth over the full vocabulary, without training."""
        return _means(self._losses(batch, None), batch.labels != NO_LABEL)

    def moments(self) -> dict[str, dict[str, Tensor]]:
        """Return the optimiser's state of each parameter, empty before the first step."""
        state = self._optimizer.state
        return {name: dict(state[p]) for name, p in self._parameters.items() if p in state}

    def set_moments(self, moments: Mapping[str, Mapping[str, Tensor]]) -> None:
        """Go on with these moments, which `moments` returned."""
        self._optimizer.state.clear()
        for name, state in moments.items():
            self._optimizer.state[self._parameters[name]] = dict(state)

    def _candidates(self, batch: Batch) -> Candidates | None:
        if self.sampling is None:
            return None
        labels = batch.labels[batch.labels != NO_LABEL].numpy()
        if len(labels) == 0:
            return None
        self._frequencies.see(labels)
        return draw_candidates(
            labels, self._frequencies.chances(), self.sampling.draws, self._random
        )

    def _losses(self, batch: Batch, candidates: Candidates | None) -> Tensor:
        """Return [N, K], over the full vocabulary without candidates; 0 without a label."""
        outputs = self.head.depth_outputs(
            batch, self.tables.embedding, through_chain=self._through_chain
        )
        labels = batch.labels.T.flatten()
        if candidates is None:
            losses = cross_entropy(torch.cat(outputs), labels, self.tables.lm_head)
        else:
            own = self._own_tokens(batch, outputs).transpose(0, 1).flatten(0, 1)
            losses = restricted_cross_entropy(
                torch.cat(outputs), labels, own, candidates, self.tables.lm_head
            )
        return losses.view(batch.depths, -1).T

    @torch.no_grad()
    def _own_tokens(self, batch: Batch, outputs: Sequence[Tensor]) -> Tensor:
        """Return the own tokens of every row, after those that are UNKNOWN were looked for."""
        assert batch.own is not None, "a batch for a restricted loss has a place for own tokens"
        unknown = batch.unknown
        for depth, output in enumerate(outputs):
            tops = top_tokens(output[unknown], self.tables.lm_head, batch.own.shape[-1])
            batch.own[unknown, depth] = tops
        return batch.own


def total_norm(gradients: Sequence[Tensor]) -> Tensor:
    """Return the 2-norm of all numbers; a dot product reads them in half the time of a norm."""
    flat = [gradient.flatten() for gradient in gradients]
    return torch.stack([torch.dot(numbers, numbers) for numbers in flat]).sum().sqrt()


def _means(losses: Tensor, labelled: Tensor) -> tuple[float, ...]:
    """Return the mean of each depth over the rows that have a label."""
    means: list[float] = (losses.detach().sum(dim=0) / labelled.sum(dim=0).clamp(min=1)).tolist()
    return tuple(means)
