"""What a session needs of the drafter's weights: how to prepare others, how to exchange them."""

from __future__ import annotations

from typing import Protocol, TypeVar

StagedT = TypeVar("StagedT")


class Weights(Protocol[StagedT]):
    """Live weights; StagedT is what others are prepared as before they go live."""

    @property
    def digest(self) -> str:
        """Return the content digest of what was last applied."""

    @property
    def stock_digest(self) -> str:
        """Return the content digest of the weights the engine started with."""

    @property
    def stock(self) -> bytes:
        """Return the weights the engine started with: safetensors in serving dtype."""

    def stage(self, data: bytes, digest: str) -> StagedT:
        """Prepare weights (safetensors bytes); LayoutError or TensorError when they do not fit."""

    def apply(self, staged: StagedT) -> None:
        """Make prepared weights live. It is called between two steps."""

    def holds_what_it_should(self) -> bool:
        """Read the live weights again and compare them with what was last applied."""
