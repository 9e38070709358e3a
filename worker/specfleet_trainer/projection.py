"""Linear layers of a head that is used several times in one pass, once for each depth.

Weights are float32. What goes in decides the type that is computed in: another type than float32
uses a copy of the weights, made in every pass. The gradient of the weights is one product over the
rows of all uses, because each product reads or writes the whole matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

# Rows of a matrix that are transposed at once.
_TURNED_ROWS = 64


class Projection(nn.Linear):
    """`x @ weight.T + bias` through functions that one pass shares."""

    def __init__(self, inputs: int, outputs: int, *, bias: bool = False) -> None:
        super().__init__(inputs, outputs, bias=bias)
        self._copies: dict[str, Tensor] = {}

    def for_one_pass(self, dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
        """Return the projection of [rows, inputs] in `dtype`, to be used any number of times.

        The weights are those of now, also after they have changed.
        """
        weight = self._in(dtype, "weight")
        bias = None if self.bias is None else self._in(dtype, "bias")
        uses: list[_Use] = []
        token: Tensor = _Weights.apply(self.weight, self.bias, uses)  # type: ignore[no-untyped-call]

        def project(x: Tensor) -> Tensor:
            projected: Tensor = _Project.apply(x, weight, bias, token, uses)  # type: ignore[no-untyped-call]
            return projected

        return project

    def _in(self, dtype: torch.dtype, name: str) -> Tensor:
        """Return a parameter in a type, in memory that is used again and again."""
        parameter: Tensor = getattr(self, name).detach()
        if parameter.dtype == dtype:
            return parameter
        if name not in self._copies or self._copies[name].dtype != dtype:
            self._copies[name] = torch.empty_like(parameter, dtype=dtype)
        return self._copies[name].copy_(parameter)


_Use = tuple[Tensor, Tensor]
"""The input of one use, and the gradient of its output."""


class _Project(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, _token: Tensor, uses: list[_Use]
    ) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.uses = uses
        return nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None, Tensor, None]:
        x, weight = ctx.saved_tensors
        (gradient,) = upstream
        ctx.uses.append((x, gradient))
        return gradient @ weight, None, None, gradient.new_zeros((), dtype=torch.float32), None


class _Weights(torch.autograd.Function):
    """Stands for the weights in every use; its backward runs once, after those of all uses."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, bias: Tensor | None, uses: list[_Use]) -> Tensor:
        ctx.has_bias = bias is not None
        ctx.uses = uses
        return weight.new_zeros(())

    @staticmethod
    def backward(ctx: Any, *_: Tensor) -> tuple[Tensor, Tensor | None, None]:
        inputs, gradients = ([use[i] for use in ctx.uses] for i in range(2))
        ctx.uses.clear()
        bias = None
        if ctx.has_bias:
            bias = torch.stack([g.sum(dim=0, dtype=torch.float32) for g in gradients]).sum(dim=0)
        return product(gradients, inputs), bias, None


def product(left: Sequence[Tensor], right: Sequence[Tensor]) -> Tensor:
    """Return the sum of left[i].T @ right[i] in float32, for [rows, m] and [rows, n] each."""
    if left[0].dtype == torch.float32:
        return torch.cat([*left]).T @ torch.cat([*right])
    # A product of bfloat16 takes half as long when no operand is a transposed view.
    return (_transposed(left) @ torch.cat([*right])).float()


def _transposed(matrices: Sequence[Tensor]) -> Tensor:
    """Return the transposed matrices side by side, made on all threads and within the cache.

    `matrix.T.contiguous()` runs on one thread and takes several times as long.
    """
    parts = [rows for matrix in matrices for rows in matrix.split(_TURNED_ROWS)]
    num_rows = [len(rows) for rows in parts]
    copy: Tensor = parts[0].new_empty(parts[0].shape[1], sum(num_rows))
    for into, rows in zip(copy.split(num_rows, dim=1), parts, strict=True):
        into.copy_(rows.T)
    return copy
