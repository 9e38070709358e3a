"""Putting tensors of a checkpoint into a head's parameters, all of them or none."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from specfleet_trainer.checkpoint import CheckpointError

Tensors = Mapping[str, NDArray[np.float32]] | Mapping[str, Tensor]


@torch.no_grad()
def load_into(own: Mapping[str, nn.Parameter], tensors: Tensors) -> None:
    """Replace the parameters' values; names and shapes must be exactly theirs."""
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
