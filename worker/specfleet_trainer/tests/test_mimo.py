from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from specfleet_trainer.batch import pack
from specfleet_trainer.checkpoint import CheckpointError, Tables
from specfleet_trainer.heads import Head, new_head
from specfleet_trainer.heads.mimo import PREFIX, MimoConfig, MimoHead
from specfleet_trainer.sequences import Sequence
from specfleet_trainer.tests.builders import CONFIG, random_weights, sequence, tiny
from specfleet_trainer.tests.naive import NaiveEngine

DEPTHS = 3


def naive_outputs(head: Head, tables: Tables, item: Sequence, queries: range) -> np.ndarray:
    """Return [queries, depths, hidden] as the engine would compute them, row after row."""
    engine = NaiveEngine(
        weights={name: w.astype(np.float64) for name, w in head.to_checkpoint().items()},
        config=CONFIG,
        embedding=tables.embedding.double().numpy(),
    )
    outputs = []
    for row in range(item.rows):
        later = [*item.tokens[row + 2 : row + 1 + DEPTHS], *[0] * DEPTHS][: DEPTHS - 1]
        tokens = [int(item.fed[row]), *map(int, later)]
        position = item.first_position + row
        outputs.append(engine.draft(item.hidden[row].astype(np.float64), position, tokens, row))
    return np.array(outputs)[list(queries)]


@pytest.mark.parametrize(
    ("first_position", "first_query"),
    [
        pytest.param(0, 0, id="every-row-from-position-zero"),
        pytest.param(0, 7, id="only-later-rows-ask"),
        pytest.param(50, 3, id="rows-before-were-in-the-prefix-cache"),
    ],
)
def test_every_depth_equals_the_engine_position_by_position(
    tmp_path: Path, first_position: int, first_query: int
) -> None:
    head, tables = tiny(tmp_path)
    item = sequence(rows=12, first_position=first_position)
    queries = range(first_query, 12)

    outputs = head.depth_outputs(pack([(item, queries)], DEPTHS), tables.embedding)

    expected = naive_outputs(head, tables, item, queries)
    for depth, output in enumerate(outputs):
        np.testing.assert_allclose(output.detach(), expected[:, depth], rtol=2e-4, atol=2e-4)


def test_sequences_of_different_lengths_do_not_see_each_other(tmp_path: Path) -> None:
    head, tables = tiny(tmp_path)
    items = [sequence(rows=rows, seed=rows) for rows in (9, 4, 1, 6)]
    alone = [
        head.depth_outputs(pack([(item, range(item.rows))], DEPTHS), tables.embedding)
        for item in items
    ]

    packed = pack([(item, range(item.rows)) for item in items], DEPTHS)
    together = head.depth_outputs(packed, tables.embedding)

    for depth, output in enumerate(together):
        torch.testing.assert_close(output, torch.cat([a[depth] for a in alone]))


def test_an_untrue_token_fed_at_a_chunk_end_changes_the_context_as_in_the_engine(
    tmp_path: Path,
) -> None:
    head, tables = tiny(tmp_path)
    item = sequence(rows=8)
    item.fed[3] = (item.tokens[4] + 1) % 40

    outputs = head.depth_outputs(pack([(item, range(8))], DEPTHS), tables.embedding)

    expected = naive_outputs(head, tables, item, range(8))
    np.testing.assert_allclose(outputs[2].detach(), expected[:, 2], rtol=2e-4, atol=2e-4)


def test_the_checkpoint_comes_back_as_it_was_loaded() -> None:
    config = MimoConfig.from_json(CONFIG)
    weights = random_weights(MimoHead(config))

    head = MimoHead.from_checkpoint(weights, config)

    saved = head.to_checkpoint()
    assert saved.keys() == weights.keys()
    assert all(np.array_equal(saved[name], weights[name]) for name in weights)


def test_checkpoint_names_are_those_of_the_model() -> None:
    names = MimoHead(MimoConfig.from_json(CONFIG)).to_checkpoint().keys()

    layer = {"token_layernorm", "hidden_layernorm", "input_proj", "input_layernorm"}
    layer |= {"post_attention_layernorm", "final_layernorm", "self_attn.o_proj"}
    layer |= {f"mlp.{part}_proj" for part in ("gate", "up", "down")}
    qkv = {f"self_attn.{part}_proj" for part in "qkv"}
    assert names == {f"{PREFIX}{name}.weight" for name in layer | qkv} | {
        f"{PREFIX}{name}.bias" for name in qkv
    }


def test_a_wrong_shape_is_refused_before_anything_changes() -> None:
    head = MimoHead(MimoConfig.from_json(CONFIG))
    before = head.to_checkpoint()
    wrong = random_weights(head)
    wrong[f"{PREFIX}input_proj.weight"] = np.zeros((2, 2), np.float32)

    with pytest.raises(CheckpointError, match=r"input_proj.weight: shape is \(2, 2\), expected"):
        head.load_checkpoint(wrong)

    assert all(np.array_equal(before[name], after) for name, after in head.to_checkpoint().items())


def test_missing_and_unexpected_names_are_told() -> None:
    head = MimoHead(MimoConfig.from_json(CONFIG))
    wrong = random_weights(head)
    wrong["other"] = wrong.pop(f"{PREFIX}input_proj.weight")

    with pytest.raises(CheckpointError, match=r"missing \['.*input_proj.*unexpected \['other'\]"):
        head.load_checkpoint(wrong)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"rope_parameters": {"rope_type": "yarn"}}, 'rope_type is "yarn"', id="rope"),
        pytest.param({"hidden_act": "gelu"}, 'hidden_act is "gelu"', id="activation"),
    ],
)
def test_a_layer_that_is_not_computed_here_is_refused(
    change: dict[str, object], message: str
) -> None:
    with pytest.raises(CheckpointError, match=message):
        MimoConfig.from_json(CONFIG | change)


def test_a_number_that_a_config_does_not_say_is_named() -> None:
    config = {name: value for name, value in CONFIG.items() if name != "rms_norm_eps"}

    with pytest.raises(CheckpointError, match="no rms_norm_eps, expected the config of a MiMo"):
        MimoConfig.from_json(config)


def test_older_configs_name_the_rotary_base_and_imply_the_head_size() -> None:
    config = {k: v for k, v in CONFIG.items() if k not in ("rope_parameters", "head_dim")}

    read = MimoConfig.from_json(config | {"rope_theta": 500.0})

    assert (read.rope_theta, read.head_dim) == (500.0, 4)


def test_an_unknown_family_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="drafter is eagle3/other, expected one of mtp/mimo"):
        new_head("eagle3", "other", CONFIG)
