"""Cross-entropy over the full vocabulary under a frozen LM head, weighted by depth.

The LM head gets no gradient, so the gradient of the hidden states is made together with the loss,
block by block: no [rows, vocabulary] tensor is kept, and no logits are computed twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from specfleet_trainer.batch import NO_LABEL

# Rows of logits held at once; larger blocks are not faster, smaller ones are.
BLOCK_ROWS = 256


def normalised(depth_weights: Sequence[float]) -> tuple[float, ...]:
    """Return the weights divided by their sum."""
    total = sum(depth_weights)
    if not depth_weights or total <= 0 or min(depth_weights) < 0:
        raise ValueError(f"depth weights are {tuple(depth_weights)}, expected a positive sum")
    return tuple(weight / total for weight in depth_weights)


def depth_losses(outputs: Sequence[Tensor], labels: Tensor, lm_head: Tensor) -> Tensor:
    """Return [K]: the mean cross-entropy of each depth over the rows that have a label.

    `outputs` are K times [N, hidden], `labels` [N, K].
    """
    return torch.stack(
        [
            mean_cross_entropy(output, labels[:, depth], lm_head)
            for depth, output in enumerate(outputs)
        ]
    )


def mean_cross_entropy(output: Tensor, labels: Tensor, lm_head: Tensor) -> Tensor:
    """Return the mean of -log softmax(lm_head @ output)[label] over labelled rows."""
    loss: Tensor = _FrozenHeadCrossEntropy.apply(output, labels, lm_head)  # type: ignore[no-untyped-call]
    return loss


class _FrozenHeadCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, output: Tensor, labels: Tensor, lm_head: Tensor) -> Tensor:
        labelled = (labels != NO_LABEL).nonzero()[:, 0]
        gradient = torch.zeros_like(output)
        total = output.new_zeros(())
        for start in range(0, len(labelled), BLOCK_ROWS):
            rows = labelled[start : start + BLOCK_ROWS]
            logits = output[rows] @ lm_head.T
            target = labels[rows, None]
            logits -= logits.amax(-1, keepdim=True)
            total -= logits.gather(1, target).sum()
            probabilities = logits.exp_()
            sums = probabilities.sum(-1, keepdim=True)
            total += sums.log().sum()
            probabilities /= sums
            probabilities.scatter_add_(1, target, probabilities.new_full(target.shape, -1.0))
            gradient[rows] = probabilities @ lm_head
        count = max(1, len(labelled))
        ctx.save_for_backward(gradient.div_(count))
        return total / count

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * upstream[0], None, None
