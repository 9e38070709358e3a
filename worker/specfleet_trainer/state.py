"""What survives a crash of the trainer: weights, moments, progress and what encoding deltas left
over, in one safetensors file.

Restoring is exact: the next step is the one that would have been made.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from specfleet_common.mistakes import shown, summary
from specfleet_trainer.heads import Array
from specfleet_trainer.progress import Progress
from specfleet_trainer.residual import Residual
from specfleet_trainer.step import TrainingStep

FORMAT = "1"
_WEIGHT = "weight."
_MOMENT = "moment."
_KEPT = "residual.kept."
_PENDING = "residual.pending."
_MOMENTS = ("exp_avg", "exp_avg_sq")
_NEVER_NEGATIVE = (".exp_avg_sq", ".step")
_PROGRESS = TypeAdapter(Progress)

Entry = tuple[str, tuple[int, ...]]
"""The dtype of a tensor, as safetensors names it, and its shape."""


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
            progress = _progress(file.metadata() or {}, lineage_id)
            names = list(file.keys())
            _check_entries({name: _entry(file.get_slice(name)) for name in names}, step)
            tensors = {name: file.get_tensor(name) for name in names}
        _check_values(tensors)
    except (SafetensorError, OSError) as error:
        raise StateError(f"{path}: not safetensors: {error}") from error
    except StateError as error:
        raise StateError(f"{path}: {error}") from error
    _restore_tensors(step, tensors)
    return progress, Residual(_arrays(tensors, _KEPT), _arrays(tensors, _PENDING))


def _progress(metadata: Mapping[str, str], lineage_id: str) -> Progress:
    if metadata.get("format") != FORMAT:
        raise StateError(f"format is {shown(metadata.get('format', ''))}, expected {shown(FORMAT)}")
    try:
        progress = _PROGRESS.validate_json(metadata.get("progress", ""))
    except ValidationError as error:
        raise StateError(f"its progress is not readable: {summary(error)}") from error
    if progress.lineage_id != lineage_id:
        raise StateError(f"lineage is {shown(progress.lineage_id)}, expected {lineage_id}")
    return progress


def _entry(tensor: Any) -> Entry:
    return tensor.get_dtype(), tuple(tensor.get_shape())


def _check_entries(entries: Mapping[str, Entry], step: TrainingStep) -> None:
    """Hold what a file says that it has to what belongs to the head, before it is read."""
    weights = {name: tuple(value.shape) for name, value in step.head.named_parameters()}
    expected = {_WEIGHT + name: shape for name, shape in weights.items()}
    for name, shape in weights.items():
        of_one = {f"{_MOMENT}{name}.{kind}": shape for kind in _MOMENTS} | {
            f"{_MOMENT}{name}.step": ()
        }
        expected |= of_one if entries.keys() & of_one else {}
    owed = [one for one in (_KEPT, _PENDING) if any(name.startswith(one) for name in entries)]
    # It copies all weights.
    arrays = step.head.to_checkpoint() if owed else {}
    expected |= {prefix + name: array.shape for prefix in owed for name, array in arrays.items()}
    for name in sorted(entries.keys() | expected.keys()):
        wanted = ("F32", expected[name]) if name in expected else None
        if entries.get(name) != wanted:
            raise StateError(
                f"{shown(name)} is {_words(entries.get(name))}, expected {_words(wanted)}"
            )


def _words(entry: Entry | None) -> str:
    return "not there" if entry is None else f"{entry[0]} {entry[1]}"


def _check_values(tensors: Mapping[str, Tensor]) -> None:
    for name, tensor in tensors.items():
        if not tensor.isfinite().all():
            raise StateError(f"{name}: some values are not finite")
        if name.startswith(_MOMENT) and name.endswith(_NEVER_NEGATIVE) and (tensor < 0).any():
            raise StateError(f"{name}: some values are negative")


def _arrays(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Array]:
    return {
        name.removeprefix(prefix): tensor.numpy()
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }


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
