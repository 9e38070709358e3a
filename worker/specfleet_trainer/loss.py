"""Cross-entropy over the full vocabulary under a frozen LM head.

The LM head gets no gradient, so the gradient of the hidden states is made together with the loss,
block by block: no [rows, vocabulary] tensor is kept, and no logits are computed twice.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from specfleet_trainer.batch import NO_LABEL
from specfleet_trainer.logits import BLOCK_ROWS, precise_logits


def cross_entropy(output: Tensor, labels: Tensor, lm_head: Tensor) -> Tensor:
    """Return [n] float32: -log softmax(lm_head @ output)[label] of each row, 0 without a label."""
    losses: Tensor = _FrozenHeadCrossEntropy.apply(output, labels, lm_head)  # type: ignore[no-untyped-call]
    return losses


class _FrozenHeadCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, output: Tensor, labels: Tensor, lm_head: Tensor) -> Tensor:
        labelled = (labels != NO_LABEL).nonzero()[:, 0]
        gradient = torch.zeros_like(output)
        losses = output.new_zeros(len(output), dtype=torch.float32)
        for rows in labelled.split(BLOCK_ROWS):
            logits = precise_logits(output[rows], lm_head)
            target = labels[rows, None]
            logits -= logits.amax(-1, keepdim=True)
            chosen = logits.gather(1, target)[:, 0]
            probabilities = logits.exp_()
            sums = probabilities.sum(-1, keepdim=True)
            losses[rows] = sums[:, 0].log() - chosen
            if ctx.needs_input_grad[0]:
                probabilities /= sums
                probabilities.scatter_add_(1, target, probabilities.new_full(target.shape, -1.0))
                gradient[rows] = probabilities.to(output.dtype) @ lm_head
        ctx.save_for_backward(gradient)
        return losses

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return (gradient * upstream[0][:, None]).to(gradient.dtype), None, None
