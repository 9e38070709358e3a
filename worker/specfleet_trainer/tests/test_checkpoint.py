from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from specfleet_trainer.checkpoint import CheckpointError, read_config, read_tables

PLAIN, NESTED = "model.embed_tokens.weight", "model.language_model.embed_tokens.weight"
LM_HEAD = "lm_head.weight"
VALUES = {PLAIN: 1.0, NESTED: 1.0, LM_HEAD: 2.0}


def write(directory: Path, config: dict[str, object], *names: str) -> Path:
    (directory / "config.json").write_text(json.dumps(config))
    tensors = {name: torch.full((3, 2), VALUES[name]) for name in names}
    save_file(tensors, directory / "model.safetensors")
    return directory


@pytest.mark.parametrize(
    ("config", "names", "lm_head"),
    [
        pytest.param({}, (PLAIN, LM_HEAD), 2.0, id="a-language-model"),
        pytest.param({"tie_word_embeddings": True}, (PLAIN,), 1.0, id="tied"),
        pytest.param(
            {"tie_word_embeddings": True}, (PLAIN, LM_HEAD), 2.0, id="tied-but-has-an-lm-head"
        ),
        pytest.param({"text_config": {}}, (NESTED, LM_HEAD), 2.0, id="in-a-larger-model"),
        pytest.param(
            {"text_config": {"tie_word_embeddings": True}},
            (NESTED,),
            1.0,
            id="tied-in-a-larger-one",
        ),
    ],
)
def test_the_tables_are_found(
    tmp_path: Path, config: dict[str, object], names: tuple[str, ...], lm_head: float
) -> None:
    tables = read_tables(write(tmp_path, config, *names))

    assert (tables.embedding == 1.0).all()
    assert (tables.lm_head == lm_head).all()
    assert (tables.lm_head is tables.embedding) == (lm_head == 1.0)


def test_a_missing_table_is_told_by_name(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"no tensor lm_head\.weight"):
        read_tables(write(tmp_path, {}, PLAIN))


def test_the_config_of_a_larger_model_is_its_language_models(tmp_path: Path) -> None:
    model = write(tmp_path, {"text_config": {"hidden_size": 2}, "vision_config": {}}, NESTED)

    assert read_config(model) == {"hidden_size": 2}
