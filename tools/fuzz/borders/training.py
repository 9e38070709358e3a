"""What a trainer reads from disk: its own state, and the directory of the model that is served."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save

from specfleet_trainer import state
from specfleet_trainer.batch import Batch, pack, training_rows
from specfleet_trainer.checkpoint import CheckpointError, Tables, read_config, read_tables
from specfleet_trainer.heads import new_head
from specfleet_trainer.progress import Progress
from specfleet_trainer.residual import Residual
from specfleet_trainer.state import StateError
from specfleet_trainer.step import TrainingStep
from specfleet_trainer.tests.builders import CONFIG, VOCABULARY, random_weights, sequence
from specfleet_trainer.tests.test_qwen3_5 import CONFIG as QWEN3_5
from tools.fuzz.border import Border

_SMALL: Mapping[str, Any] = CONFIG | {
    "hidden_size": 4,
    "intermediate_size": 4,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 2,
}
LINEAGE = "0123456789abcdef"


def borders() -> tuple[Border, ...]:
    """Return these borders."""
    stated: tuple[type[Exception], ...] = (StateError,)
    refused: tuple[type[Exception], ...] = (CheckpointError,)
    larger = {"text_config": QWEN3_5, "vision_config": {}}
    return (
        Border("state of a trainer", _take_state, stated, states()),
        Border(
            "progress of a trainer",
            _take_progress,
            stated,
            (json.dumps(PROGRESS).encode(),),
            is_json=True,
        ),
        _config("mimo", CONFIG),
        _config("qwen3_5", larger),
        Border("tensors of a model", _take_tables, refused, (_tables_file(),)),
    )


PROGRESS = {
    "lineage_id": LINEAGE,
    "round": 3,
    "version": 2,
    "digest": "d" * 64,
    "local_steps": 7,
    "delta_codec": "Int8",
}


@cache
def step() -> TrainingStep:
    """Return a trainer that has made a step; what is taken becomes its state."""
    head, random = new_head("mtp", "mimo", _SMALL), torch.Generator().manual_seed(1)
    head.load_checkpoint(random_weights(head))
    tables = Tables(*(torch.randn(VOCABULARY, 4, generator=random) for _ in range(2)))
    made = TrainingStep(head, tables, learning_rate=1e-3, depth_weights=(1.0,))
    made.run(_batch())
    return made


def _batch() -> Batch:
    item = sequence(rows=3)
    hidden: NDArray[np.float32] = np.ones((item.rows, 4), np.float32)
    small = replace(item, hidden=hidden)
    return pack([(small, training_rows(small, 1))], 1)


@cache
def states() -> tuple[bytes, ...]:
    """Return the files of one that owes nothing, and of one that owes what encoding left over."""
    progress = Progress(LINEAGE, round=3, version=2, digest="d" * 64)
    weights = step().head.to_checkpoint()
    owed = {name: np.ones_like(array) for name, array in weights.items()}
    return (
        state.encode(step(), progress, Residual()),
        state.encode(step(), progress, Residual(kept=owed)),
    )


def _take_state(data: bytes) -> None:
    """Restore it, and make the step that comes next."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        found = state.restore(Path(file.name), step(), lineage_id=LINEAGE)
    assert found is not None
    progress, residual = found
    assert progress.lineage_id == LINEAGE
    shapes = {name: array.shape for name, array in step().head.to_checkpoint().items()}
    for owed in (residual.kept, residual.pending):
        assert not owed or {name: array.shape for name, array in owed.items()} == shapes
    step().run(_batch())


def _take_progress(data: bytes) -> None:
    """Take it for the progress that a good state has in its header."""
    good = states()[0]
    length = int.from_bytes(good[:8], "little")
    header = json.loads(good[8 : 8 + length])
    header["__metadata__"]["progress"] = data.decode(errors="replace")
    text = json.dumps(header).encode()
    _take_state(len(text).to_bytes(8, "little") + text + good[8 + length :])


def _config(layout: str, good: Mapping[str, Any]) -> Border:
    def take(data: bytes) -> None:
        with tempfile.TemporaryDirectory() as directory:
            (Path(directory) / "config.json").write_bytes(data)
            config = read_config(Path(directory))
        # Its weights take no memory there.
        with torch.device("meta"):
            new_head("mtp", layout, config)

    seed = json.dumps(good).encode()
    return Border(f"config of a {layout} model", take, (CheckpointError,), (seed,), is_json=True)


def _take_tables(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "config.json").write_text('{"tie_word_embeddings": true}')
        (Path(directory) / "model.safetensors").write_bytes(data)
        tables = read_tables(Path(directory))
    assert tables.embedding.dtype == torch.float32


def _tables_file() -> bytes:
    written: bytes = save({"model.embed_tokens.weight": torch.ones(5, 4)})
    return written
