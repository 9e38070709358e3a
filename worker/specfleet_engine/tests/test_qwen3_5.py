from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from specfleet_engine.layouts import LayoutError, find_layout
from specfleet_engine.layouts.qwen3_5 import Qwen35Layout
from specfleet_engine.layouts.stacking import Stacking

HIDDEN, HEADS, KEY_VALUE_HEADS, SIZE, INTERMEDIATE = 8, 2, 1, 4, 6
QUERY_ROWS, KEY_ROWS = 2 * HEADS * SIZE, KEY_VALUE_HEADS * SIZE
LAYOUT = Qwen35Layout(Stacking(QUERY_ROWS, KEY_ROWS, INTERMEDIATE))
SHAPES = {
    "fc.weight": (HIDDEN, 2 * HIDDEN),
    "layers.0.self_attn.qkv_proj.weight": (QUERY_ROWS + 2 * KEY_ROWS, HIDDEN),
    "layers.0.self_attn.o_proj.weight": (HIDDEN, HEADS * SIZE),
    "layers.0.self_attn.q_norm.weight": (SIZE,),
    "layers.0.self_attn.k_norm.weight": (SIZE,),
    "layers.0.mlp.gate_up_proj.weight": (2 * INTERMEDIATE, HIDDEN),
    "layers.0.mlp.down_proj.weight": (HIDDEN, INTERMEDIATE),
    "layers.0.input_layernorm.weight": (HIDDEN,),
    "layers.0.post_attention_layernorm.weight": (HIDDEN,),
    "norm.weight": (HIDDEN,),
    "pre_fc_norm_hidden.weight": (HIDDEN,),
    "pre_fc_norm_embedding.weight": (HIDDEN,),
}


class Qwen3_5MTP(torch.nn.Module):  # noqa: N801 - named as vLLM names it
    """What the layout reads of vLLM's draft model, with its parameters."""

    def __init__(self, *, layers: int = 1, serves_images: bool | None = None) -> None:
        super().__init__()
        multimodal = None
        if serves_images is not None:
            multimodal = SimpleNamespace(language_model_only=not serves_images)
        self.vllm_config = SimpleNamespace(
            model_config=SimpleNamespace(multimodal_config=multimodal)
        )
        self.model = torch.nn.Module()
        self.model.add_module("layers", torch.nn.ModuleList([layer() for _ in range(layers)]))


def layer() -> torch.nn.Module:
    attention: Any = torch.nn.Module()
    attention.q_size, attention.kv_size = HEADS * SIZE, KEY_ROWS
    attention.attn_output_gate = True
    gate_up: Any = torch.nn.Module()
    gate_up.output_partition_sizes = [INTERMEDIATE, INTERMEDIATE]
    mlp = torch.nn.ModuleDict({"gate_up_proj": gate_up})
    return torch.nn.ModuleDict({"self_attn": attention, "mlp": mlp})


def own(seed: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {
        f"model.{name}": torch.randn(shape, generator=generator) for name, shape in SHAPES.items()
    }


@given(st.integers(0, 2**32))
def test_stacking_undoes_splitting(seed: int) -> None:
    parameters = own(seed)

    again = LAYOUT.to_rank(LAYOUT.to_checkpoint(parameters))

    assert again.keys() == parameters.keys()
    assert all(torch.equal(again[name], parameters[name]) for name in parameters)


def test_the_checkpoint_has_the_names_and_shapes_of_the_layout() -> None:
    checkpoint = LAYOUT.to_checkpoint(own(0))

    assert {name: tuple(value.shape) for name, value in checkpoint.items()} == {
        "mtp.fc.weight": (8, 16),
        "mtp.layers.0.self_attn.q_proj.weight": (16, 8),
        "mtp.layers.0.self_attn.k_proj.weight": (4, 8),
        "mtp.layers.0.self_attn.v_proj.weight": (4, 8),
        "mtp.layers.0.self_attn.o_proj.weight": (8, 8),
        "mtp.layers.0.self_attn.q_norm.weight": (4,),
        "mtp.layers.0.self_attn.k_norm.weight": (4,),
        "mtp.layers.0.mlp.gate_proj.weight": (6, 8),
        "mtp.layers.0.mlp.up_proj.weight": (6, 8),
        "mtp.layers.0.mlp.down_proj.weight": (8, 6),
        "mtp.layers.0.input_layernorm.weight": (8,),
        "mtp.layers.0.post_attention_layernorm.weight": (8,),
        "mtp.norm.weight": (8,),
        "mtp.pre_fc_norm_hidden.weight": (8,),
        "mtp.pre_fc_norm_embedding.weight": (8,),
    }


def test_the_sizes_are_read_off_the_drafter() -> None:
    assert find_layout("mtp", Qwen3_5MTP()) == LAYOUT


@pytest.mark.parametrize("name", ["model.embed_tokens.weight", "lm_head.weight"])
def test_an_embedding_or_lm_head_of_the_drafters_own_is_refused_by_name(name: str) -> None:
    with pytest.raises(LayoutError, match=f"parameter {name} is the drafter's own"):
        LAYOUT.to_checkpoint(own(0) | {name: torch.zeros(3, HIDDEN)})


def test_a_foreign_tensor_is_refused_by_name() -> None:
    with pytest.raises(LayoutError, match=r"tensor lm_head\.weight: unexpected, names start mtp\."):
        LAYOUT.to_rank({"lm_head.weight": torch.zeros(1)})


def test_an_engine_that_serves_images_is_refused() -> None:
    with pytest.raises(LayoutError, match="serves images, expected --language-model-only"):
        find_layout("mtp", Qwen3_5MTP(serves_images=True))


def test_a_model_that_could_serve_images_but_does_not_is_adapted() -> None:
    assert find_layout("mtp", Qwen3_5MTP(serves_images=False)) == LAYOUT


def test_a_drafter_of_two_layers_is_refused() -> None:
    with pytest.raises(LayoutError, match="2 MTP layers, expected 1"):
        find_layout("mtp", Qwen3_5MTP(layers=2))
