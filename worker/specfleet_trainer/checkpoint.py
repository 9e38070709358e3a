"""Reading a served model's directory: its config and a few of its tensors.

Reads only the tensors asked for, so a large target is never loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError, safe_open

from specfleet_common.mistakes import summary
from specfleet_trainer.model_config import Known

EMBEDDINGS = ("model.embed_tokens.weight", "model.language_model.embed_tokens.weight")
"""The embedding's name in a language model, and in one that is part of a larger model."""
LM_HEAD = "lm_head.weight"


_JSON: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])
_KNOWN = TypeAdapter(Known)


class CheckpointError(ValueError):
    """A model directory lacks what a head needs, or describes what no head here computes."""


@dataclass(frozen=True, slots=True)
class Tables:
    """What a head shares with its target and never trains."""

    embedding: torch.Tensor
    """[vocabulary, hidden]"""
    lm_head: torch.Tensor
    """[vocabulary, hidden]"""

    def to(self, dtype: torch.dtype) -> Tables:
        """Return them in another type; tied ones stay one tensor."""
        embedding = self.embedding.to(dtype)
        is_tied = self.lm_head is self.embedding
        return Tables(embedding, embedding if is_tied else self.lm_head.to(dtype))


def read_config(directory: Path) -> dict[str, Any]:
    """Return what the model's `config.json` says; of a larger model, what it says of the language.

    CheckpointError when a field that heads read is not what it can be.
    """
    path = directory / "config.json"
    try:
        config: dict[str, Any] = _JSON.validate_json(path.read_bytes())
        text: dict[str, Any] = _JSON.validate_python(config.get("text_config", config))
        _KNOWN.validate_python(text)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror}") from error
    except ValidationError as error:
        raise CheckpointError(f"{path}: {summary(error)}") from error
    return {name: value for name, value in text.items() if value is not None}


def read_tables(directory: Path, dtype: torch.dtype = torch.float32) -> Tables:
    """Read the frozen embedding and LM head; one tensor serves as both when they are tied.

    As in vLLM, they are not where the checkpoint has an LM head all the same.
    """
    names = _names(directory)
    embedding = next((name for name in EMBEDDINGS if name in names), EMBEDDINGS[0])
    is_tied = read_config(directory).get("tie_word_embeddings", False) and LM_HEAD not in names
    lm_head = embedding if is_tied else LM_HEAD
    tensors = read_tensors(directory, {embedding, lm_head}, dtype)
    return Tables(embedding=tensors[embedding], lm_head=tensors[lm_head])


def _names(directory: Path) -> set[str]:
    """Return the names of all tensors in the directory's safetensors files."""
    names: set[str] = set()
    for path in sorted(directory.glob("*.safetensors")):
        with _opened(path) as file:
            names.update(file.keys())
    return names


def read_tensors(
    directory: Path, names: Iterable[str], dtype: torch.dtype = torch.float32
) -> dict[str, torch.Tensor]:
    """Read tensors by name from the directory's safetensors files, in `dtype`."""
    wanted = set(names)
    found: dict[str, torch.Tensor] = {}
    for path in sorted(directory.glob("*.safetensors")):
        with _opened(path) as file:
            for name in wanted.intersection(file.keys()):
                found[name] = file.get_tensor(name).to(dtype)
    if missing := sorted(wanted - found.keys()):
        raise CheckpointError(f"{directory}: no tensor {', '.join(missing)} in its safetensors")
    return found


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open a safetensors file for the time of a `with` block."""
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path}: not safetensors: {error}") from error
