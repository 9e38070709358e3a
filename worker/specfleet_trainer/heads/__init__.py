"""Draft heads, one module for each family and layout, and what the trainer needs of any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from specfleet_trainer.batch import Batch
from specfleet_trainer.heads import mimo, qwen3_5

Array = NDArray[np.float32]


class Head(Protocol):
    """A trainable drafter; embedding and LM head belong to the target and are passed in."""

    def depth_outputs(
        self, batch: Batch, embedding: Tensor, *, through_chain: bool = False
    ) -> list[Tensor]:
        """Return the hidden state of each depth, [queries, hidden]; LM head @ it = logits."""

    def load_checkpoint(self, tensors: Mapping[str, Array] | Mapping[str, Tensor]) -> None:
        """Replace the weights in place; names and shapes must be exactly the head's."""

    def to_checkpoint(self) -> dict[str, Array]:
        """Return copies of the weights under their checkpoint names."""

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Yield the trainable parameters under stable names."""


Config = Mapping[str, Any]
HEADS: Mapping[tuple[str, str], Callable[[Config], Head]] = {
    ("mtp", "mimo"): mimo.from_config,
    ("mtp", "qwen3_5"): qwen3_5.from_config,
}


def new_head(family: str, layout: str, config: Config) -> Head:
    """Build an untrained head of a family and layout for the model of this config."""
    if (family, layout) not in HEADS:
        known = ", ".join("/".join(name) for name in HEADS)
        raise ValueError(f"drafter is {family}/{layout}, expected one of {known}")
    return HEADS[family, layout](config)


def blank_head(family: str, layout: str, config: Config, dtype: torch.dtype) -> Head:
    """Build a head in a type of its own, whose weights are yet to be loaded.

    That takes milliseconds; drawing weights at random takes longer than loading them.
    """
    with torch.device("meta"):
        head = new_head(family, layout, config)
    assert isinstance(head, nn.Module) and not list(head.buffers()), "only weights would be loaded"
    head.to(dtype).to_empty(device="cpu")
    return head
