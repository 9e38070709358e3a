from __future__ import annotations

import json
import re
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


@pytest.mark.parametrize(
    ("config", "words"),
    [
        pytest.param("{", "document: is not JSON", id="cut"),
        pytest.param("[1]", "document: is [1], expected", id="no-object"),
        pytest.param('{"text_config": 3}', "document: is 3, expected", id="no-part"),
        pytest.param('{"hidden_size": -8}', "hidden_size: is -8, expected", id="negative"),
        pytest.param('{"hidden_size": "8"}', 'hidden_size: is "8", expected', id="text"),
        pytest.param('{"head_dim": 7}', "head_dim: is 7, expected a multiple of 2", id="odd"),
        pytest.param(
            f'{{"intermediate_size": {1 << 60}}}', "intermediate_size: is 1152", id="huge"
        ),
        pytest.param('{"rms_norm_eps": 0}', "rms_norm_eps: is 0, expected", id="no-epsilon"),
        pytest.param('{"rope_parameters": 1}', "rope_parameters: is 1, expected", id="no-rope"),
        pytest.param(
            '{"num_attention_heads": 4, "num_key_value_heads": 3}',
            "num_key_value_heads is 3, expected a divisor of num_attention_heads, which is 4",
            id="heads",
        ),
    ],
)
def test_a_config_that_is_none_is_refused(tmp_path: Path, config: str, words: str) -> None:
    (tmp_path / "config.json").write_text(config)

    with pytest.raises(CheckpointError, match=re.escape(words)):
        read_config(tmp_path)


def test_what_a_config_leaves_open_is_not_said(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"hidden_size": 8, "head_dim": null}')

    assert read_config(tmp_path) == {"hidden_size": 8}


def test_a_model_without_a_config_is_told(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"config\.json: cannot be read: No such file"):
        read_config(tmp_path)


def test_a_file_that_is_cut_is_told(tmp_path: Path) -> None:
    write(tmp_path, {}, PLAIN, LM_HEAD)
    whole = (tmp_path / "model.safetensors").read_bytes()
    (tmp_path / "model.safetensors").write_bytes(whole[:-1])

    with pytest.raises(CheckpointError, match=r"model\.safetensors: not safetensors"):
        read_tables(tmp_path)


def test_the_config_of_a_larger_model_is_its_language_models(tmp_path: Path) -> None:
    model = write(tmp_path, {"text_config": {"hidden_size": 2}, "vision_config": {}}, NESTED)

    assert read_config(model) == {"hidden_size": 2}
