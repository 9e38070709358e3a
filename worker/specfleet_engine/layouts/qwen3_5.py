"""Family `mtp` in the Qwen3.5 layout: one multi-token-prediction layer with gated attention.

Embedding and LM head are the target's. Not for the mixture-of-experts variant, nor for engines that
serve images: a row of theirs has three positions, and an embedding that is no token's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from specfleet_engine.layouts import LayoutError, Parameters
from specfleet_engine.layouts.stacking import Stacking, stack

CHECKPOINT_PREFIX = "mtp."
RANK_PREFIX = "model."
_EMBEDDING = "model.embed_tokens."


@dataclass(frozen=True, slots=True)
class Qwen35Layout:
    """Names differ in the prefix only; what vLLM stacks is kept apart."""

    stacking: Stacking
    family: str = "mtp"
    name: str = "qwen3_5"

    @classmethod
    def of(cls, drafter: torch.nn.Module) -> Qwen35Layout:
        """Read the sizes off vLLM's `Qwen3_5MTP`; LayoutError when rows of it cannot be joined."""
        config: Any = drafter.vllm_config
        multimodal = config.model_config.multimodal_config
        if multimodal is not None and not multimodal.language_model_only:
            raise LayoutError(
                "the engine serves images, expected --language-model-only: their positions and "
                "embeddings are not captured"
            )
        layers = list(drafter.get_submodule("model.layers").children())
        if len(layers) != 1:
            raise LayoutError(f"drafter has {len(layers)} MTP layers, expected 1")
        return cls(Stacking.of(layers[0]))

    def to_checkpoint(self, own: Parameters) -> dict[str, torch.Tensor]:
        """Split the stacked parameters; values are views of `own`."""
        checkpoint = {}
        for name, value in own.items():
            if not name.startswith(RANK_PREFIX) or name.startswith(_EMBEDDING):
                raise LayoutError(
                    f"parameter {name} is the drafter's own, expected only those of its layer: "
                    "it shares embedding and LM head with the target"
                )
            inner = CHECKPOINT_PREFIX + name.removeprefix(RANK_PREFIX)
            checkpoint.update(self.stacking.split(inner, value))
        return checkpoint

    def to_rank(self, checkpoint: Parameters) -> dict[str, torch.Tensor]:
        """Stack the checkpoint's parts again."""
        parts = {}
        for name, value in checkpoint.items():
            if not name.startswith(CHECKPOINT_PREFIX):
                raise LayoutError(f"tensor {name}: unexpected, names start {CHECKPOINT_PREFIX}")
            parts[RANK_PREFIX + name.removeprefix(CHECKPOINT_PREFIX)] = value
        return stack(parts)
