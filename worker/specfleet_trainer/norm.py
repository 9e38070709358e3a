"""Root-mean-square norm with float32 statistics, whatever the type of its input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn


class RmsNorm(nn.Module):
    """`x / sqrt(mean(x^2) + eps) * weight` over the last dimension, in the type of x."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self._eps = eps

    def forward(self, x: Tensor) -> Tensor:
        normed: Tensor = _RmsNorm.apply(x, self.weight, self._eps)  # type: ignore[no-untyped-call]
        return normed


class OffsetRmsNorm(nn.Module):
    """`x / sqrt(mean(x^2) + eps) * (1 + weight)`: weights near zero keep their digits in bfloat16.

    Over the last dimension of [n, size] or [n, heads, size], in the type of x.
    """

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(size))
        self._eps = eps

    def forward(self, x: Tensor) -> Tensor:
        rows, weight = x.flatten(0, -2), self.weight.float() + 1.0
        normed: Tensor = _RmsNorm.apply(rows, weight, self._eps)  # type: ignore[no-untyped-call]
        return normed.view(x.shape)


# Numbers done at once (1 MiB), so that what is between input and output stays in the cache.
_BLOCK_NUMBERS = 1 << 18


class _RmsNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float) -> Tensor:
        normed, scale = torch.empty_like(x), x.new_empty(len(x), 1, dtype=torch.float32)
        for out, x_block, scale_block in _blocks(normed, x, scale):
            # Operations on two types at once are several times slower than a conversion.
            exact = x_block.float()
            length = torch.linalg.vector_norm(exact, dim=-1, keepdim=True)
            torch.rsqrt((length.square() / x.shape[-1]).add_(eps), out=scale_block)
            out.copy_((exact * scale_block).mul_(weight))
        ctx.save_for_backward(x, weight, scale)
        return normed

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, Tensor, None]:
        x, weight, scale = ctx.saved_tensors
        for_x, for_weight = torch.empty_like(x), torch.zeros_like(weight)
        for out, g, x_block, scale_block in _blocks(for_x, upstream[0], x, scale):
            unit, exact = x_block.float() * scale_block, g.float()
            scaled = exact * unit
            for_weight += scaled.sum(dim=0)
            if ctx.needs_input_grad[0]:
                along = (scaled @ weight / len(weight))[:, None]
                out.copy_((exact * weight).addcmul_(unit, along, value=-1.0).mul_(scale_block))
        return for_x if ctx.needs_input_grad[0] else None, for_weight, None


def _blocks(*tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    rows = max(1, _BLOCK_NUMBERS // tensors[0].shape[-1])
    return zip(*(tensor.split(rows) for tensor in tensors), strict=True)
