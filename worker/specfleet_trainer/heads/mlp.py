"""The gated linear unit of a transformer layer, as its checkpoint names the weights."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from specfleet_trainer.projection import Projection


class GatedMlp(nn.Module):
    """silu(x gate) * (x up), down again (Shazeer, arXiv 2002.05202)."""

    def __init__(self, hidden: int, intermediate: int) -> None:
        super().__init__()
        self.gate_proj = Projection(hidden, intermediate)
        self.up_proj = Projection(hidden, intermediate)
        self.down_proj = Projection(intermediate, hidden)

    def for_one_pass(self, dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
        """Return the function of [rows, hidden] in `dtype`, as `Projection.for_one_pass` does."""
        gate = self.gate_proj.for_one_pass(dtype)
        up = self.up_proj.for_one_pass(dtype)
        down = self.down_proj.for_one_pass(dtype)
        return lambda x: down(functional.silu(gate(x)) * up(x))
