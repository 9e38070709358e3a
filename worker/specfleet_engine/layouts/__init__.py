"""How a drafter's checkpoint maps to the parameters vLLM made of it: one module per layout.

A new family or layout is one more module with a `DrafterLayout`, and a line in `find_layout`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    import torch

Parameters: TypeAlias = "Mapping[str, torch.Tensor]"


class LayoutError(ValueError):
    """The drafter is not one this version can adapt, or weights do not fit it."""


class DrafterLayout(Protocol):
    """One family in one checkpoint layout."""

    @property
    def family(self) -> str:
        """Return how the drafter works, such as `mtp`."""

    @property
    def name(self) -> str:
        """Return how its checkpoint is laid out, such as `mimo`."""

    def to_checkpoint(self, own: Parameters) -> dict[str, torch.Tensor]:
        """Return the checkpoint's tensors, made of the drafter's own parameters in vLLM."""

    def to_rank(self, checkpoint: Parameters) -> dict[str, torch.Tensor]:
        """Return the drafter's own parameters in this rank; it undoes `to_checkpoint`."""


def find_layout(method: str, drafter: torch.nn.Module) -> DrafterLayout:
    """Return the layout of vLLM's draft model; LayoutError names what can be adapted."""
    from specfleet_engine.layouts.mimo import MimoLayout
    from specfleet_engine.layouts.qwen3_5 import Qwen35Layout

    if method == "mtp" and type(drafter).__name__ == "MiMoMTP":
        return MimoLayout.of(drafter)
    if method == "mtp" and type(drafter).__name__ == "Qwen3_5MTP":
        return Qwen35Layout.of(drafter)
    raise LayoutError(
        f"drafter {type(drafter).__name__} (method {method!r}) cannot be adapted, "
        "expected method 'mtp' with MiMoMTP or Qwen3_5MTP"
    )
