"""Small random models and sequences for the trainer's tests."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file

from specfleet_trainer.checkpoint import Tables, read_config, read_tables
from specfleet_trainer.heads import Head, new_head
from specfleet_trainer.sequences import Drafts, Sequence

HIDDEN = 16
VOCABULARY = 40
CONFIG = {
    "hidden_size": HIDDEN,
    "intermediate_size": 24,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 4,
    "rms_norm_eps": 1e-6,
    "rope_parameters": {"rope_type": "default", "rope_theta": 100.0},
    "vocab_size": VOCABULARY,
    "tie_word_embeddings": False,
}


def write_model(directory: Path, **changes: object) -> Path:
    """Write a model directory with random frozen tables and return it."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.json").write_text(json.dumps(CONFIG | changes))
    random = torch.Generator().manual_seed(7)
    tables = {
        name: torch.randn(VOCABULARY, HIDDEN, generator=random)
        for name in ("model.embed_tokens.weight", "lm_head.weight")
    }
    save_file(tables, directory / "model.safetensors")
    return directory


def random_weights(head: Head, seed: int = 0) -> dict[str, NDArray[np.float32]]:
    """Return weights for `head` that are large enough for every part of it to matter."""
    random = np.random.default_rng(seed)
    return {
        name: random.normal(0.0, 0.5, array.shape).astype(np.float32)
        for name, array in head.to_checkpoint().items()
    }


def tiny(directory: Path, seed: int = 0) -> tuple[Head, Tables]:
    """Return a random head and the tables of a model written to `directory`."""
    model = write_model(directory)
    head = new_head("mtp", "mimo", read_config(model))
    head.load_checkpoint(random_weights(head, seed))
    return head, read_tables(model)


def sequence(
    rows: int = 12,
    *,
    seed: int = 0,
    prompt_tokens: int = 0,
    first_position: int = 0,
    held_out: bool = False,
    complete: bool = True,
    drafts: dict[int, Drafts] | None = None,
) -> Sequence:
    """Return a sequence of random tokens and hidden states."""
    random = np.random.default_rng(seed)
    tokens = random.integers(0, VOCABULARY, rows + 1).astype(np.int32)
    return Sequence(
        tokens=tokens,
        fed=tokens[1:].copy(),
        hidden=random.standard_normal((rows, HIDDEN)).astype(np.float32),
        prompt_tokens=prompt_tokens,
        first_position=first_position,
        serial=seed,
        held_out=held_out,
        complete=complete,
        drafts=drafts or {},
    )
