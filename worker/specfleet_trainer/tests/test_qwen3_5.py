from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
import torch

from specfleet_trainer.batch import pack
from specfleet_trainer.checkpoint import CheckpointError
from specfleet_trainer.heads import Head, blank_head, new_head
from specfleet_trainer.heads.qwen3_5 import Qwen35Config
from specfleet_trainer.sequences import Sequence
from specfleet_trainer.tests.builders import HIDDEN, VOCABULARY, random_weights, sequence
from specfleet_trainer.tests.naive_qwen3_5 import NaiveQwen35

DEPTHS = 3
CONFIG: dict[str, object] = {
    "hidden_size": HIDDEN,
    "intermediate_size": 24,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "rms_norm_eps": 1e-6,
    "rope_parameters": {
        "rope_type": "default",
        "rope_theta": 100.0,
        "partial_rotary_factor": 0.5,
        "mrope_interleaved": True,
        "mrope_section": [1, 1, 0],
    },
}
EMBEDDING = torch.randn(VOCABULARY, HIDDEN, generator=torch.Generator().manual_seed(7))


def head(seed: int = 0) -> Head:
    made = new_head("mtp", "qwen3_5", CONFIG)
    made.load_checkpoint(random_weights(made, seed))
    return made


def naive_outputs(weights: Mapping[str, np.ndarray], item: Sequence) -> np.ndarray:
    """Return [rows, depths, hidden] as the engine would compute them, row after row."""
    engine = NaiveQwen35(
        weights={name: w.astype(np.float64) for name, w in weights.items()},
        config=CONFIG,
        embedding=EMBEDDING.double().numpy(),
    )
    outputs = []
    for row in range(item.rows):
        later = [*item.tokens[row + 2 : row + 1 + DEPTHS], *[0] * DEPTHS][: DEPTHS - 1]
        tokens = [int(item.fed[row]), *map(int, later)]
        position = item.first_position + row
        outputs.append(engine.draft(item.hidden[row].astype(np.float64), position, tokens, row))
    return np.array(outputs)


@pytest.mark.parametrize(
    ("first_position", "first_query"),
    [
        pytest.param(0, 0, id="every-row-from-position-zero"),
        pytest.param(0, 7, id="only-later-rows-ask"),
        pytest.param(50, 3, id="rows-before-were-in-the-prefix-cache"),
    ],
)
def test_every_depth_equals_the_engine_position_by_position(
    first_position: int, first_query: int
) -> None:
    item = sequence(rows=12, first_position=first_position)
    made = head()

    outputs = made.depth_outputs(pack([(item, range(first_query, 12))], DEPTHS), EMBEDDING)

    expected = naive_outputs(made.to_checkpoint(), item)[first_query:]
    for depth, output in enumerate(outputs):
        np.testing.assert_allclose(output.detach(), expected[:, depth], rtol=2e-4, atol=2e-4)


def test_every_weight_has_the_gradient_that_finite_differences_say() -> None:
    """Along one random direction for each tensor, of a sum over all depths."""
    item = sequence(rows=6)
    batch = pack([(item, range(6))], DEPTHS)
    made = head()
    weights = made.to_checkpoint()
    random = np.random.default_rng(1)
    readout = random.standard_normal((DEPTHS, 6, HIDDEN)).astype(np.float32)

    outputs = torch.stack(made.depth_outputs(batch, EMBEDDING, through_chain=True))
    torch.autograd.backward((outputs * torch.from_numpy(readout)).sum())

    for name, parameter in made.named_parameters():
        assert parameter.grad is not None
        direction = random.standard_normal(parameter.shape)
        ends = []
        for sign in (1, -1):
            moved = {k: v.astype(np.float64) for k, v in weights.items()}
            moved[f"mtp.{name}"] += sign * 1e-4 * direction
            ends.append((naive_outputs(moved, item).transpose(1, 0, 2) * readout).sum())
        expected = (ends[0] - ends[1]) / 2e-4
        assert (parameter.grad.numpy() * direction).sum() == pytest.approx(
            expected, rel=2e-3, abs=2e-3
        )


def test_the_gradient_stops_between_depths_unless_it_should_not() -> None:
    batch = pack([(sequence(rows=6), range(6))], DEPTHS)
    through, stopped = head(), head()

    for made, flag in ((through, True), (stopped, False)):
        outputs = made.depth_outputs(batch, EMBEDDING, through_chain=flag)
        torch.autograd.backward(outputs[-1].sum())

    of_through, of_stopped = (
        dict(made.named_parameters())["fc.weight"].grad for made in (through, stopped)
    )
    assert of_through is not None and of_stopped is not None
    assert not torch.allclose(of_through, of_stopped)


def test_bfloat16_computes_the_same_but_for_rounding() -> None:
    batch = pack([(sequence(rows=12), range(12))], DEPTHS)
    made = head()
    rounded = blank_head("mtp", "qwen3_5", CONFIG, torch.bfloat16)
    rounded.load_checkpoint(made.to_checkpoint())

    with torch.no_grad():
        exact = made.depth_outputs(batch, EMBEDDING)[0]
        close = [m.depth_outputs(batch, EMBEDDING.bfloat16())[0].float() for m in (made, rounded)]

    for output in close:
        assert torch.nn.functional.cosine_similarity(output, exact).min() > 0.99


def test_the_checkpoint_comes_back_as_it_was_loaded() -> None:
    made = new_head("mtp", "qwen3_5", CONFIG)
    weights = random_weights(made)

    made.load_checkpoint(weights)

    saved = made.to_checkpoint()
    assert saved.keys() == weights.keys()
    assert all(np.array_equal(saved[name], weights[name]) for name in weights)


def test_checkpoint_names_are_those_of_the_model() -> None:
    names = new_head("mtp", "qwen3_5", CONFIG).to_checkpoint().keys()

    attention = {f"self_attn.{part}_proj" for part in "qkvo"}
    attention |= {"self_attn.q_norm", "self_attn.k_norm"}
    layer = attention | {f"mlp.{part}_proj" for part in ("gate", "up", "down")}
    layer |= {"input_layernorm", "post_attention_layernorm"}
    outside = {"fc", "norm", "pre_fc_norm_embedding", "pre_fc_norm_hidden"}
    expected = outside | {f"layers.0.{name}" for name in layer}
    assert names == {f"mtp.{name}.weight" for name in expected}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(
            {"rope_parameters": {"rope_type": "yarn"}}, 'rope_type is "yarn"', id="rotary-embedding"
        ),
        pytest.param({"hidden_act": "gelu"}, 'hidden_act is "gelu"', id="activation"),
        pytest.param({"attn_output_gate": False}, "attn_output_gate is false", id="no-gate"),
        pytest.param({"mtp_num_hidden_layers": 2}, "mtp_num_hidden_layers is 2", id="two-layers"),
        pytest.param(
            {"rope_parameters": {"rope_theta": 1e4}}, "no partial_rotary_factor", id="unsaid"
        ),
        pytest.param(
            {"rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": None}},
            "no partial_rotary_factor",
            id="said-to-be-nothing",
        ),
    ],
)
def test_a_layer_that_is_not_computed_here_is_refused(
    change: dict[str, object], message: str
) -> None:
    with pytest.raises(CheckpointError, match=message):
        Qwen35Config.from_json(CONFIG | change)


def test_rotary_numbers_may_stand_beside_the_rotary_parameters() -> None:
    config = CONFIG | {"rope_parameters": {}, "rope_theta": 500.0, "partial_rotary_factor": 0.25}

    read = Qwen35Config.from_json(config)

    assert (read.rope_theta, read.rotary_size) == (500.0, 2)
