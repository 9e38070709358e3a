"""What a simulated engine reads of a model's folder: the sizes in its configuration."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e.simulator.texts import LAST_TOKEN


class ModelError(ValueError):
    """The folder holds no model that can be simulated."""


@dataclass(frozen=True, slots=True)
class Model:
    """Sizes of a model, and the dtype it is served in."""

    folder: Path
    architecture: str
    hidden_size: int
    max_model_len: int
    stop_token: int | None
    num_mtp_layers: int
    dtype: str


def read_model(folder: Path, *, dtype: str, max_model_len: int | None) -> Model:
    """Return the model as vLLM would serve it; ModelError when it is none.

    `dtype` auto is the configuration's, on CPU bfloat16 in place of float32, as in vLLM.
    """
    config = json.loads((folder / "config.json").read_text())
    try:
        found = Model(
            folder=folder,
            architecture=config["architectures"][0],
            hidden_size=config["hidden_size"],
            max_model_len=max_model_len or config["max_position_embeddings"],
            stop_token=_stop_token(config.get("eos_token_id")),
            num_mtp_layers=config.get("num_nextn_predict_layers", 0),
            dtype=_served(config) if dtype == "auto" else dtype,
        )
    except (KeyError, IndexError, TypeError) as error:
        raise ModelError(f"{folder}/config.json: lacks {error}") from error
    if config["vocab_size"] <= LAST_TOKEN:
        raise ModelError(
            f"{folder}: vocabulary of {config['vocab_size']}, expected more than {LAST_TOKEN}: "
            "a simulated token is a character"
        )
    return found


def _served(config: dict[str, Any]) -> str:
    stored = str(config.get("dtype") or config.get("torch_dtype") or "float32")
    return "bfloat16" if stored == "float32" else stored


def _stop_token(value: Any) -> int | None:
    first = value[0] if isinstance(value, list) else value
    return None if first is None else int(first)
