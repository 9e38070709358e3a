"""What survives a crash of the trainer: weights, moments, progress and what encoding deltas left
over, in one safetensors file.

Restoring is exact: the next step is the one that would have been made.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import torch
from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from specfleet_trainer.heads import Array
from specfleet_trainer.progress import Progress
from specfleet_trainer.residual import Residual
from specfleet_trainer.step import TrainingStep

FORMAT = "1"
_WEIGHT = "weight."
_MOMENT = "moment."
_KEPT = "residual.kept."
_PENDING = "residual.pending."


class StateError(ValueError):
    """A file is not the state of such a trainer."""


def encode(step: TrainingStep, progress: Progress, residual: Residual) -> bytes:
    """Return the file's bytes."""
    tensors = {
        _WEIGHT + name: parameter.detach() for name, parameter in step.head.named_parameters()
    }
    for name, moments in step.moments().items():
        tensors |= {f"{_MOMENT}{name}.{kind}": moment for kind, moment in moments.items()}
    for prefix, arrays in ((_KEPT, residual.kept), (_PENDING, residual.pending)):
        tensors |= {prefix + name: torch.from_numpy(array) for name, array in arrays.items()}
    metadata = {"format": FORMAT, "progress": json.dumps(asdict(progress))}
    data: bytes = save(tensors, metadata)
    return data


def restore(path: Path, step: TrainingStep, *, lineage_id: str) -> tuple[Progress, Residual] | None:
    """Put the file's weights and moments into `step`; None while there is no file.

    StateError, and `step` as it was, for a file that is not such a state of this lineage.
    """
    if not path.exists():
        return None
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in list(file.keys())}
    except SafetensorError as error:
        raise StateError(f"{path}: not safetensors: {error}") from error
    if metadata.get("format") != FORMAT:
        raise StateError(f"{path}: format is {metadata.get('format')!r}, expected {FORMAT!r}")
    try:
        progress = TypeAdapter(Progress).validate_json(metadata["progress"])
    except (KeyError, ValidationError) as error:
        raise StateError(f"{path}: its progress is not readable: {error}") from error
    if progress.lineage_id != lineage_id:
        raise StateError(f"{path}: lineage is {progress.lineage_id}, expected {lineage_id}")
    _check_shapes(path, step, tensors)
    _restore_tensors(step, tensors)
    return progress, Residual(_arrays(tensors, _KEPT), _arrays(tensors, _PENDING))


def _arrays(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Array]:
    return {
        name.removeprefix(prefix): tensor.numpy()
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }


def _check_shapes(path: Path, step: TrainingStep, tensors: Mapping[str, Tensor]) -> None:
    for name, parameter in step.head.named_parameters():
        stored = tensors.get(_WEIGHT + name)
        if stored is None or stored.shape != parameter.shape:
            shape = None if stored is None else tuple(stored.shape)
            raise StateError(f"{path}: {name} is {shape}, expected {tuple(parameter.shape)}")


@torch.no_grad()
def _restore_tensors(step: TrainingStep, tensors: Mapping[str, Tensor]) -> None:
    moments: dict[str, dict[str, Tensor]] = {}
    for name, parameter in step.head.named_parameters():
        parameter.copy_(tensors[_WEIGHT + name])
        prefix = f"{_MOMENT}{name}."
        kinds = {key.removeprefix(prefix): key for key in tensors if key.startswith(prefix)}
        if kinds:
            moments[name] = {kind: tensors[key] for kind, key in kinds.items()}
    step.set_moments(moments)
