"""Family `mtp` in the MiMo layout: one multi-token-prediction layer around a Qwen2 block.

vLLM stacks query, key and value, and gate and up; the checkpoint keeps them apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from specfleet_engine.layouts import LayoutError, Parameters
from specfleet_engine.layouts.stacking import Stacking, stack

CHECKPOINT_PREFIX = "model.mtp_layers.0."
_OUTSIDE_BLOCK = ("token_layernorm", "hidden_layernorm", "input_proj", "final_layernorm")


@dataclass(frozen=True, slots=True)
class MimoLayout:
    """What is stacked how, and the prefix of the parameters' names in vLLM."""

    rank_prefix: str
    stacking: Stacking
    family: str = "mtp"
    name: str = "mimo"

    @classmethod
    def of(cls, drafter: torch.nn.Module) -> MimoLayout:
        """Read the sizes off vLLM's `MiMoMTP`; LayoutError when it has not exactly one layer."""
        layers = drafter.get_submodule("model.mtp_layers")
        names = [name for name, _ in layers.named_children()]
        if len(names) != 1:
            raise LayoutError(f"drafter has {len(names)} MTP layers, expected 1")
        return cls(
            rank_prefix=f"model.mtp_layers.{names[0]}.",
            stacking=Stacking.of(layers.get_submodule(f"{names[0]}.mtp_block")),
        )

    def to_checkpoint(self, own: Parameters) -> dict[str, torch.Tensor]:
        """Split the stacked parameters; values are views of `own`."""
        checkpoint = {}
        for name, value in own.items():
            if not name.startswith(self.rank_prefix):
                raise LayoutError(f"parameter {name}: unexpected, names start {self.rank_prefix}")
            inner = name.removeprefix(self.rank_prefix).removeprefix("mtp_block.")
            checkpoint.update(self.stacking.split(CHECKPOINT_PREFIX + inner, value))
        return checkpoint

    def to_rank(self, checkpoint: Parameters) -> dict[str, torch.Tensor]:
        """Stack the checkpoint's parts again."""
        parts = {}
        for name, value in checkpoint.items():
            if not name.startswith(CHECKPOINT_PREFIX):
                raise LayoutError(f"tensor {name}: unexpected, names start {CHECKPOINT_PREFIX}")
            inner = name.removeprefix(CHECKPOINT_PREFIX)
            block = "" if inner.startswith(_OUTSIDE_BLOCK) else "mtp_block."
            parts[self.rank_prefix + block + inner] = value
        return stack(parts)
