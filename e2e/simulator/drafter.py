"""The drafter's weights in a simulated engine: checked and named as in a real one, never used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from e2e.simulator.model import Model
from specfleet_common.lineage import Lineage, Shapes, shapes_digest
from specfleet_common.tensors import (
    TensorError,
    TensorMap,
    check_shapes,
    content_digest,
    dtype_of,
    encode,
    encoded_digest,
    entries_of_open_file,
    from_bfloat16,
    shapes_of,
)
from specfleet_engine.layouts import LayoutError
from specfleet_engine.weights.digests import target_digest

ARCHITECTURE = "MiMoForCausalLM"
FAMILY, LAYOUT = "mtp", "mimo"
PREFIX = "model.mtp_layers.0."
"""How the tensors of a MiMo drafter begin in its checkpoint."""


@dataclass(frozen=True, slots=True)
class Checked:
    """Weights that may go live."""

    digest: str


class SimulatedDrafter:
    """Weights by their digests. The stock ones are read again each time they are asked for."""

    def __init__(
        self, model: Model, *, method: str, is_whole: Callable[[], bool] = lambda: True
    ) -> None:
        """Read the drafter; LayoutError when the plugin could not adapt it in a real engine.

        `is_whole` says whether what is live is what was applied.
        """
        if (method, model.architecture, model.num_mtp_layers) != (FAMILY, ARCHITECTURE, 1):
            raise LayoutError(
                f"drafter of {model.architecture} with {model.num_mtp_layers} MTP layers (method "
                f"{method!r}) cannot be adapted, expected method {FAMILY!r} with {ARCHITECTURE}"
            )
        self._model = model
        self._is_whole = is_whole
        tensors = read_drafter(model.folder)
        self._shapes: Shapes = {name: array.shape for name, array in tensors.items()}
        self._stock_digest = encoded_digest(tensors, model.dtype)
        self._digest = self._stock_digest

    @property
    def digest(self) -> str:
        """Return the digest of what was last applied."""
        return self._digest

    @property
    def stock_digest(self) -> str:
        """Return the digest of the weights the engine started with."""
        return self._stock_digest

    @property
    def stock(self) -> bytes:
        """Return the weights the engine started with: safetensors in serving dtype."""
        return encode(read_drafter(self._model.folder), self._model.dtype)

    def lineage(self) -> Lineage:
        """Return the lineage of drafters that fit this model."""
        return Lineage(
            target_digest=target_digest(self._model.folder),
            family=FAMILY,
            layout=LAYOUT,
            dtype=self._model.dtype,
            shapes_digest=shapes_digest(self._shapes),
        )

    def stage(self, data: bytes, digest: str) -> Checked:
        """Check weights; LayoutError or TensorError when they do not fit."""
        actual = content_digest(data)
        if actual != digest:
            raise LayoutError(f"weights have digest {actual}, expected {digest}")
        check_shapes(shapes_of(data), self._shapes)
        if dtype_of(data) != self._model.dtype:
            raise LayoutError(f"weights are {dtype_of(data)}, expected {self._model.dtype}")
        return Checked(digest)

    def apply(self, staged: Checked) -> None:
        """Take the weights as live."""
        self._digest = staged.digest

    def holds_what_it_should(self) -> bool:
        """Say whether what is live is what was applied, as far as the test lets it be."""
        return self._is_whole()


def read_drafter(folder: Path) -> TensorMap:
    """Return the drafter's tensors in a checkpoint; TensorError when there are none."""
    tensors = {}
    for path in sorted(folder.glob("*.safetensors")):
        with path.open("rb") as file:
            for entry in entries_of_open_file(file):
                if not entry.name.startswith(PREFIX):
                    continue
                file.seek(entry.begin)
                data = file.read(entry.end - entry.begin)
                values = (
                    np.frombuffer(data, "<f4")
                    if entry.dtype == "float32"
                    else from_bfloat16(np.frombuffer(data, "<u2"))
                )
                tensors[entry.name] = values.reshape(entry.shape)
    if not tensors:
        raise TensorError(f"{folder}: no tensor's name begins with {PREFIX}, expected a drafter")
    return tensors
