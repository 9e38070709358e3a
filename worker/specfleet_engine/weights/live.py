"""The drafter's live weights in this process: which parameters are its own, and how to swap them.

Swap = stage and copy: the next weights are mapped and fingerprinted beside the live ones, then
copied into the live storage between two steps. Addresses stay what they were under every CUDA-graph
mode, and no forward pass sees half of a version.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from safetensors.torch import load, save

from specfleet_common.lineage import Lineage, shapes_digest
from specfleet_common.tensors import content_digest
from specfleet_engine.layouts import DrafterLayout, LayoutError
from specfleet_engine.weights.digests import fingerprint
from specfleet_engine.weights.movers import HostMover, Mover


@dataclass(frozen=True, slots=True)
class Staged:
    """Weights that may go live: parameters in this rank's layout, and their fingerprint."""

    digest: str
    parameters: dict[str, torch.Tensor]
    fingerprint: str


def own_parameters(
    drafter: torch.nn.Module, target: torch.nn.Module
) -> dict[str, torch.nn.Parameter]:
    """Return the drafter's parameters whose storage is not the target's.

    Raises LayoutError for one without storage: vLLM packed it, so writing to it changes nothing.
    """
    shared = {parameter.data_ptr() for parameter in target.parameters() if parameter.numel()}
    own = {}
    for name, parameter in drafter.named_parameters():
        if not parameter.numel():
            raise LayoutError(f"parameter {name} has no storage: vLLM packed it, expected it plain")
        if parameter.data_ptr() not in shared:
            own[name] = parameter
    if not own:
        raise LayoutError("the drafter shares all its parameters with the target, expected some")
    return own


class LiveDrafter:
    """The drafter's own parameters, and the digest of what they hold."""

    def __init__(
        self,
        own: dict[str, torch.nn.Parameter],
        layout: DrafterLayout,
        mover: Mover | None = None,
    ) -> None:
        self._own = own
        self._live = {name: parameter.data for name, parameter in own.items()}
        self._layout = layout
        self._mover = mover or HostMover()
        self._stock: bytes = save(self._checkpoint(own))
        self._expected = fingerprint(own)
        self.stock_digest = content_digest(self._stock)
        self.digest = self.stock_digest

    @property
    def stock(self) -> bytes:
        """Return the weights the engine started with: safetensors in serving dtype."""
        return self._stock

    def lineage(self, target: str) -> Lineage:
        """Return the lineage of drafters that fit these parameters and the target's digest."""
        checkpoint = self._checkpoint(self._own)
        dtypes = {str(value.dtype).removeprefix("torch.") for value in checkpoint.values()}
        if len(dtypes) != 1:
            raise LayoutError(f"the drafter has parameters of {sorted(dtypes)}, expected one dtype")
        return Lineage(
            target_digest=target,
            family=self._layout.family,
            layout=self._layout.name,
            dtype=dtypes.pop(),
            shapes_digest=shapes_digest({n: tuple(v.shape) for n, v in checkpoint.items()}),
        )

    def stage(self, data: bytes, digest: str) -> Staged:
        """Map weights (safetensors bytes) to this rank; LayoutError when they do not fit."""
        actual = content_digest(data)
        if actual != digest:
            raise LayoutError(f"weights have digest {actual}, expected {digest}")
        parameters = self._layout.to_rank(load(data))
        for name in sorted(self._own.keys() | parameters.keys()):
            if name not in parameters or name not in self._own:
                raise LayoutError(f"parameter {name} is only in one of weights and drafter")
            new, old = parameters[name], self._own[name]
            if (new.shape, new.dtype) != (old.shape, old.dtype):
                raise LayoutError(
                    f"parameter {name}: {tuple(new.shape)} {new.dtype}, "
                    f"expected {tuple(old.shape)} {old.dtype}"
                )
        expected = fingerprint(parameters)
        return Staged(digest, self._mover.stage(parameters), expected)

    def apply(self, staged: Staged) -> None:
        """Copy staged weights into the live storage. Call it between two steps."""
        self._mover.apply(staged.parameters, self._live)
        self._expected = staged.fingerprint
        self.digest = staged.digest

    def holds_what_it_should(self) -> bool:
        """Read the live storage again and compare it with what was last applied."""
        return self._mover.fingerprint(self._live) == self._expected

    def _checkpoint(self, own: dict[str, torch.nn.Parameter]) -> dict[str, torch.Tensor]:
        plain = {name: parameter.detach() for name, parameter in own.items()}
        checkpoint = self._layout.to_checkpoint(plain)
        return {name: value.cpu().contiguous() for name, value in checkpoint.items()}
