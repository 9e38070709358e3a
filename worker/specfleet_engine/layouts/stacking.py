"""Linears that vLLM stacks into one parameter and checkpoints keep apart, in this rank's rows.

Query, key and value are one parameter, gate and up another, in these orders.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from specfleet_engine.layouts import LayoutError, Parameters

_STACKS = {
    "qkv_proj": ("q_proj", "k_proj", "v_proj"),
    "gate_up_proj": ("gate_proj", "up_proj"),
}


@dataclass(frozen=True, slots=True)
class Stacking:
    """How many rows of the stacked parameters belong to a part."""

    query_rows: int
    """With an output gate, also the gate's: a head's query and gate are neighbours."""
    key_value_rows: int
    gate_rows: int

    @classmethod
    def of(cls, layer: torch.nn.Module) -> Stacking:
        """Read the rows off one of vLLM's decoder layers."""
        attention: Any = layer.get_submodule("self_attn")
        gate_up: Any = layer.get_submodule("mlp.gate_up_proj")
        return cls(
            query_rows=attention.q_size * (1 + getattr(attention, "attn_output_gate", False)),
            key_value_rows=attention.kv_size,
            gate_rows=gate_up.output_partition_sizes[0],
        )

    def split(self, name: str, value: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return the parts of a parameter under their names, as views; it alone if not stacked."""
        for stacked, parts in _STACKS.items():
            if f".{stacked}." in name:
                names = [name.replace(stacked, part) for part in parts]
                return dict(zip(names, value.tensor_split(self._bounds(stacked)), strict=True))
        return {name: value}

    def _bounds(self, stacked: str) -> tuple[int, ...]:
        if stacked == "qkv_proj":
            return self.query_rows, self.query_rows + self.key_value_rows
        return (self.gate_rows,)


def stack(parts: Parameters) -> dict[str, torch.Tensor]:
    """Return the parameters that `split` made these parts of."""
    found: dict[str, dict[int, torch.Tensor]] = {}
    for name, value in parts.items():
        whole, place = _place(name)
        found.setdefault(whole, {})[place] = value
    return {name: _join(name, values) for name, values in found.items()}


def _place(name: str) -> tuple[str, int]:
    """Return the parameter that a part belongs to, and its place in it."""
    for stacked, parts in _STACKS.items():
        for place, part in enumerate(parts):
            if f".{part}." in name:
                return name.replace(part, stacked), place
    return name, 0


def _join(name: str, values: dict[int, torch.Tensor]) -> torch.Tensor:
    try:
        return torch.cat([values[place] for place in sorted(values)])
    except RuntimeError as error:
        raise LayoutError(f"parameter {name}: its parts do not fit together: {error}") from error
