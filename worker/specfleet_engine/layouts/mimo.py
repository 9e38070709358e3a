"""Family `mtp` in the MiMo layout: one multi-token-prediction layer around a Qwen2 block.

vLLM stacks query, key and value, and gate and up; the checkpoint keeps them apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from specfleet_engine.layouts import LayoutError, Parameters

CHECKPOINT_PREFIX = "model.mtp_layers.0."
_OUTSIDE_BLOCK = ("token_layernorm", "hidden_layernorm", "input_proj", "final_layernorm")


@dataclass(frozen=True, slots=True)
class MimoLayout:
    """Sizes of the stacked parameters, and the prefix of their names in vLLM."""

    rank_prefix: str
    query_rows: int
    key_value_rows: int
    gate_rows: int
    family: str = "mtp"
    name: str = "mimo"

    @classmethod
    def of(cls, drafter: torch.nn.Module) -> MimoLayout:
        """Read the sizes off vLLM's `MiMoMTP`; LayoutError when it has not exactly one layer."""
        layers = drafter.get_submodule("model.mtp_layers")
        names = [name for name, _ in layers.named_children()]
        if len(names) != 1:
            raise LayoutError(f"drafter has {len(names)} MTP layers, expected 1")
        attention: Any = layers.get_submodule(f"{names[0]}.mtp_block.self_attn")
        gate_up: Any = layers.get_submodule(f"{names[0]}.mtp_block.mlp.gate_up_proj")
        return cls(
            rank_prefix=f"model.mtp_layers.{names[0]}.",
            query_rows=attention.q_size,
            key_value_rows=attention.kv_size,
            gate_rows=gate_up.output_sizes[0],
        )

    def to_checkpoint(self, own: Parameters) -> dict[str, torch.Tensor]:
        """Split the stacked parameters; values are views of `own`."""
        checkpoint = {}
        for name, value in own.items():
            if not name.startswith(self.rank_prefix):
                raise LayoutError(f"parameter {name}: unexpected, names start {self.rank_prefix}")
            inner = name.removeprefix(self.rank_prefix).removeprefix("mtp_block.")
            for part, rows in self._parts(inner):
                checkpoint[CHECKPOINT_PREFIX + part] = value if rows is None else value[rows]
        return checkpoint

    def to_rank(self, checkpoint: Parameters) -> dict[str, torch.Tensor]:
        """Stack the checkpoint's parts again."""
        stacked: dict[str, dict[int, torch.Tensor]] = {}
        for name, value in checkpoint.items():
            if not name.startswith(CHECKPOINT_PREFIX):
                raise LayoutError(f"tensor {name}: unexpected, names start {CHECKPOINT_PREFIX}")
            target, place = self._whole(name.removeprefix(CHECKPOINT_PREFIX))
            stacked.setdefault(self.rank_prefix + target, {})[place] = value
        return {name: _stack(name, parts) for name, parts in stacked.items()}

    def _parts(self, inner: str) -> list[tuple[str, slice | None]]:
        """Return the checkpoint's names of one parameter, and the rows of each in it."""
        if ".qkv_proj." in inner:
            first, second = self.query_rows, self.query_rows + self.key_value_rows
            rows = {"q": slice(0, first), "k": slice(first, second), "v": slice(second, None)}
            return [(inner.replace("qkv_proj", f"{key}_proj"), rows[key]) for key in rows]
        if ".gate_up_proj." in inner:
            gate, up = slice(0, self.gate_rows), slice(self.gate_rows, None)
            return [
                (inner.replace("gate_up_proj", "gate_proj"), gate),
                (inner.replace("gate_up_proj", "up_proj"), up),
            ]
        return [(inner, None)]

    @staticmethod
    def _whole(part: str) -> tuple[str, int]:
        """Return the parameter that a checkpoint's tensor belongs to, and its place in it."""
        block = "" if part.startswith(_OUTSIDE_BLOCK) else "mtp_block."
        for place, key in enumerate(("q_proj", "k_proj", "v_proj")):
            if f".{key}." in part:
                return block + part.replace(key, "qkv_proj"), place
        for place, key in enumerate(("gate_proj", "up_proj")):
            if f".{key}." in part:
                return block + part.replace(key, "gate_up_proj"), place
        return block + part, 0


def _stack(name: str, parts: dict[int, torch.Tensor]) -> torch.Tensor:
    try:
        return torch.cat([parts[place] for place in sorted(parts)])
    except RuntimeError as error:
        raise LayoutError(f"parameter {name}: its parts do not fit together: {error}") from error
