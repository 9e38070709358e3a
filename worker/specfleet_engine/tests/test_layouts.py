import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from specfleet_engine.layouts import LayoutError, find_layout
from specfleet_engine.layouts.mimo import CHECKPOINT_PREFIX, MimoLayout
from specfleet_engine.layouts.stacking import Stacking

STACKING = Stacking(query_rows=8, key_value_rows=4, gate_rows=6)
LAYOUT = MimoLayout("model.mtp_layers.16.", STACKING)


def own(seed: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shapes = {
        "token_layernorm.weight": (8,),
        "hidden_layernorm.weight": (8,),
        "input_proj.weight": (8, 16),
        "mtp_block.input_layernorm.weight": (8,),
        "mtp_block.self_attn.qkv_proj.weight": (16, 8),
        "mtp_block.self_attn.qkv_proj.bias": (16,),
        "mtp_block.self_attn.o_proj.weight": (8, 8),
        "mtp_block.post_attention_layernorm.weight": (8,),
        "mtp_block.mlp.gate_up_proj.weight": (12, 8),
        "mtp_block.mlp.down_proj.weight": (8, 6),
        "final_layernorm.weight": (8,),
    }
    return {
        LAYOUT.rank_prefix + name: torch.randn(shape, generator=generator)
        for name, shape in shapes.items()
    }


@given(st.integers(0, 2**32))
def test_stacking_undoes_splitting(seed: int) -> None:
    parameters = own(seed)

    again = LAYOUT.to_rank(LAYOUT.to_checkpoint(parameters))

    assert again.keys() == parameters.keys()
    assert all(torch.equal(again[name], parameters[name]) for name in parameters)


def test_the_checkpoint_has_the_names_of_the_layout() -> None:
    names = LAYOUT.to_checkpoint(own(0)).keys()

    assert {name.removeprefix(CHECKPOINT_PREFIX) for name in names} == {
        "token_layernorm.weight",
        "hidden_layernorm.weight",
        "input_proj.weight",
        "input_layernorm.weight",
        "self_attn.q_proj.weight",
        "self_attn.k_proj.weight",
        "self_attn.v_proj.weight",
        "self_attn.q_proj.bias",
        "self_attn.k_proj.bias",
        "self_attn.v_proj.bias",
        "self_attn.o_proj.weight",
        "post_attention_layernorm.weight",
        "mlp.gate_proj.weight",
        "mlp.up_proj.weight",
        "mlp.down_proj.weight",
        "final_layernorm.weight",
    }


def test_query_key_and_value_are_the_stacked_rows_in_that_order() -> None:
    parameters = own(1)
    stacked = parameters[LAYOUT.rank_prefix + "mtp_block.self_attn.qkv_proj.weight"]

    checkpoint = LAYOUT.to_checkpoint(parameters)

    parts = [checkpoint[f"{CHECKPOINT_PREFIX}self_attn.{key}_proj.weight"] for key in "qkv"]
    assert torch.equal(torch.cat(parts), stacked)


def test_a_foreign_tensor_is_refused_by_name() -> None:
    with pytest.raises(LayoutError, match=r"lm_head\.weight"):
        LAYOUT.to_rank({"lm_head.weight": torch.zeros(1)})


def test_an_unknown_drafter_is_refused_by_name() -> None:
    with pytest.raises(LayoutError, match=r"drafter Linear .*expected method 'mtp'"):
        find_layout("mtp", torch.nn.Linear(1, 1))
