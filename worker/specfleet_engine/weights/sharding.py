"""A rank's part of a checkpoint's tensors under tensor parallelism.

vLLM cuts a linear layer along one axis, and keeps norms whole in every rank. Key and value heads
that are fewer than ranks are shared by neighbours. So the shapes tell how a tensor is cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import safe_open

from specfleet_engine.layouts import DrafterLayout, LayoutError, Parameters
from specfleet_engine.weights.digests import fingerprint

Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class ShardedLayout:
    """A layout for one of several ranks: its checkpoints are whole, its parameters are a part."""

    inner: DrafterLayout
    shapes: Shapes
    stock: Parameters
    """What the engine was started with, whole: a rank has only its own part of it."""
    rank: int
    num_ranks: int

    @classmethod
    def of(
        cls, inner: DrafterLayout, own: Parameters, folder: Path, *, rank: int, num_ranks: int
    ) -> ShardedLayout:
        """Read the checkpoint; LayoutError where this rank's parameters are not made of it."""
        plain = {name: value.detach() for name, value in own.items()}
        parts = inner.to_checkpoint(plain)
        shapes = {name: tuple(value.shape) for name, value in parts.items()}
        dtype = next(iter(parts.values())).dtype
        layout = cls(inner, shapes, whole(folder, shapes, dtype), rank, num_ranks)
        if fingerprint(layout.to_rank(layout.stock)) != fingerprint(plain):
            raise LayoutError(
                f"rank {rank} of {num_ranks} does not hold the drafter of {folder} as cut by shapes"
            )
        return layout

    @property
    def family(self) -> str:
        """Return how the drafter works."""
        return self.inner.family

    @property
    def name(self) -> str:
        """Return how its checkpoint is laid out."""
        return self.inner.name

    def to_checkpoint(self, own: Parameters) -> dict[str, torch.Tensor]:
        """Return the stock drafter: of what is live, no rank has the whole."""
        return dict(self.stock)

    def to_rank(self, checkpoint: Parameters) -> dict[str, torch.Tensor]:
        """Return this rank's parameters."""
        parts = sharded(checkpoint, self.shapes, rank=self.rank, num_ranks=self.num_ranks)
        return self.inner.to_rank(parts)


def sharded(
    checkpoint: Parameters, shapes: Shapes, *, rank: int, num_ranks: int
) -> dict[str, torch.Tensor]:
    """Return this rank's part of every tensor, as views; `shapes` are those of its parts."""
    parts = {}
    for name, value in checkpoint.items():
        if name not in shapes:
            raise LayoutError(f"tensor {name} is not one of the drafter's")
        parts[name] = _part(name, value, shapes[name], rank=rank, num_ranks=num_ranks)
    return parts


def whole(folder: Path, names: Iterable[str], dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """Return tensors of a model's folder by their names, in the dtype they are served in."""
    wanted, found = set(names), {}
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, framework="pt") as file:
            for name in wanted.intersection(file.keys()):
                found[name] = file.get_tensor(name).to(dtype)
    missing = sorted(wanted - found.keys())
    if missing:
        raise LayoutError(f"{folder}: no tensor {missing[0]}, expected the drafter's checkpoint")
    return found


def _part(
    name: str, value: torch.Tensor, shape: tuple[int, ...], *, rank: int, num_ranks: int
) -> torch.Tensor:
    actual = tuple(value.shape)
    axes = [
        axis for axis, (has, wants) in enumerate(zip(actual, shape, strict=False)) if has != wants
    ]
    if len(actual) != len(shape) or len(axes) > 1:
        raise LayoutError(f"tensor {name}: {actual}, expected {shape} or a multiple along one axis")
    if not axes:
        return value
    (axis,) = axes
    parts, rest = divmod(actual[axis], shape[axis])
    if rest or parts < 2 or num_ranks % parts:
        raise LayoutError(f"tensor {name}: {actual}, expected {shape} in each of {num_ranks} ranks")
    return value.narrow(axis, rank * parts // num_ranks * shape[axis], shape[axis])
