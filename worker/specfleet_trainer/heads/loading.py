"""A head's parameters and the tensors of a checkpoint: put in, all of them or none, and copied."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from specfleet_trainer.checkpoint import CheckpointError

Tensors = Mapping[str, NDArray[np.float32]] | Mapping[str, Tensor]


def copies(head: nn.Module, *, prefix: str) -> dict[str, NDArray[np.float32]]:
    """Return copies of a head's weights under their checkpoint names, which begin with `prefix`."""
    return {
        prefix + name: parameter.detach().numpy().copy()
        for name, parameter in head.named_parameters()
    }


@torch.no_grad()
def load_into(head: nn.Module, tensors: Tensors, *, prefix: str) -> None:
    """Replace a head's weights in place; names and shapes must be exactly theirs."""
    own = {prefix + name: parameter for name, parameter in head.named_parameters()}
    if own.keys() != tensors.keys():
        raise CheckpointError(
            f"drafter tensors: missing {sorted(own.keys() - tensors.keys())}, "
            f"unexpected {sorted(tensors.keys() - own.keys())}"
        )
    for name, parameter in own.items():
        shape = tuple(tensors[name].shape)
        if shape != tuple(parameter.shape):
            raise CheckpointError(f"{name}: shape is {shape}, expected {tuple(parameter.shape)}")
    for name, parameter in own.items():
        values = tensors[name]
        parameter.copy_(values if isinstance(values, Tensor) else torch.tensor(values))
