"""How much the loss of each depth counts in each row. Pure; the weights of a batch sum up to 1."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

# Of D-PACE: how far a depth counts although its prefix would be refused now.
SMOOTHING = 0.5


def normalised(depth_weights: Sequence[float]) -> tuple[float, ...]:
    """Return the weights divided by their sum."""
    total = sum(depth_weights)
    if not depth_weights or total <= 0 or min(depth_weights) < 0:
        raise ValueError(f"depth weights are {tuple(depth_weights)}, expected a positive sum")
    return tuple(weight / total for weight in depth_weights)


def fixed_weights(labelled: Tensor, depth_weights: Sequence[float]) -> Tensor:
    """Return [N, K]: each depth's weight, shared by the rows that have a label, [N, K] bool."""
    counts = labelled.sum(dim=0).clamp(min=1)
    return labelled * (torch.tensor(normalised(depth_weights)) / counts)


def dpace_weights(losses: Tensor, labelled: Tensor) -> Tensor:
    """Return [N, K]: the weights of D-PACE (arXiv 2605.18810) for losses -log q(y), [N, K].

    p_k = (1 - a) q(y_k) + a; P_k = p_1 ... p_k, about how likely the prefix up to k is accepted;
    w_k = P_k + ... + P_K, the accepted tokens that need depth k.
    """
    smoothed = (1 - SMOOTHING) * torch.exp(-losses.detach()) + SMOOTHING
    accepted = (smoothed * labelled).cumprod(dim=1)
    weights = accepted.flip(1).cumsum(dim=1).flip(1)
    return weights / weights.sum().clamp(min=torch.finfo(weights.dtype).tiny)
