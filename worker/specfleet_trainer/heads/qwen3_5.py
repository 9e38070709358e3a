"""The Qwen3.5 multi-token-prediction head: one layer with gated attention.

At row t it gets the embedding of x_{t+1} and h_t (the target's hidden state after the final norm),
and its output, normed, predicts x_{t+2}; the next depth gets that output, x_{t+2}, and position
t+1. The same function as vLLM's `qwen3_5_mtp.py`: norms multiply by one plus their weight, queries
and keys are normed by head and rotated in their first dimensions only, and what a head attends to
is multiplied by the sigmoid of its gate, which the query projection returns beside the query.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from specfleet_common.mistakes import shown
from specfleet_trainer.attention import KeyValue, Rotation, Span, tree_attention
from specfleet_trainer.batch import Batch
from specfleet_trainer.checkpoint import CheckpointError
from specfleet_trainer.heads.chaining import chained
from specfleet_trainer.heads.loading import Tensors, copies, load_into
from specfleet_trainer.heads.mlp import GatedMlp
from specfleet_trainer.norm import OffsetRmsNorm
from specfleet_trainer.projection import Projection

PREFIX = "mtp."
_ASSUMED = {"hidden_act": "silu", "attn_output_gate": True, "mtp_num_hidden_layers": 1}
"""What this head computes; a config that says nothing means the same."""
_ROTARY = ("rope_theta", "partial_rotary_factor")


@dataclass(frozen=True, slots=True)
class Qwen35Config:
    """The numbers of a model's config.json that shape the head."""

    hidden_size: int
    intermediate_size: int
    num_heads: int
    num_key_value_heads: int
    head_dim: int
    rotary_size: int
    rope_theta: float
    rms_norm_eps: float

    @classmethod
    def from_json(cls, config: Mapping[str, Any]) -> Self:
        """Read the config; refuse what this head does not compute, and what it does not say."""
        for name, expected in _ASSUMED.items():
            if config.get(name, expected) != expected:
                raise CheckpointError(
                    f"config.json: {name} is {shown(config[name])}, expected {shown(expected)}"
                )
        # A config that does not name them among the rotary parameters names them beside.
        beside = {name: config[name] for name in _ROTARY if name in config}
        said = config.get("rope_parameters") or {}
        rope = beside | {name: value for name, value in said.items() if value is not None}
        if rope.get("rope_type", "default") != "default":
            raise CheckpointError(
                f"config.json: rope_type is {shown(rope['rope_type'])}, expected default"
            )
        try:
            return cls(
                hidden_size=config["hidden_size"],
                intermediate_size=config["intermediate_size"],
                num_heads=config["num_attention_heads"],
                num_key_value_heads=config["num_key_value_heads"],
                head_dim=config["head_dim"],
                rotary_size=int(config["head_dim"] * rope["partial_rotary_factor"]),
                rope_theta=rope["rope_theta"],
                rms_norm_eps=config["rms_norm_eps"],
            )
        except KeyError as error:
            raise CheckpointError(
                f"config.json: no {error.args[0]}, expected the text config of a Qwen3.5 model"
            ) from error


class Qwen35Head(nn.Module):
    """The trainable part of the drafter, float32; attribute names follow the checkpoint."""

    def __init__(self, config: Qwen35Config) -> None:
        super().__init__()
        hidden, eps = config.hidden_size, config.rms_norm_eps
        self.config = config
        self.pre_fc_norm_embedding = OffsetRmsNorm(hidden, eps)
        self.pre_fc_norm_hidden = OffsetRmsNorm(hidden, eps)
        self.fc = Projection(2 * hidden, hidden)
        self.layers = nn.ModuleList([_Layer(config)])
        self.norm = OffsetRmsNorm(hidden, eps)

    def load_checkpoint(self, tensors: Tensors) -> None:
        """Replace the weights in place; names and shapes must be exactly the head's."""
        load_into(self, tensors, prefix=PREFIX)

    def to_checkpoint(self) -> dict[str, NDArray[np.float32]]:
        """Return copies of the weights under their checkpoint names."""
        return copies(self, prefix=PREFIX)

    def depth_outputs(
        self, batch: Batch, embedding: Tensor, *, through_chain: bool = False
    ) -> list[Tensor]:
        """Return the output of each depth for the batch's queries, [queries, hidden] each.

        They are computed in the type of `embedding`. The gradient of a depth stops at the output of
        the depth before it, which is its input, unless it should go `through_chain`.
        """
        return chained(_Pass(self, embedding), batch, through_chain=through_chain)


class _Layer(nn.Module):
    def __init__(self, config: Qwen35Config) -> None:
        super().__init__()
        hidden, eps = config.hidden_size, config.rms_norm_eps
        self.input_layernorm = OffsetRmsNorm(hidden, eps)
        self.self_attn = _Attention(config)
        self.post_attention_layernorm = OffsetRmsNorm(hidden, eps)
        self.mlp = GatedMlp(hidden, config.intermediate_size)


class _Attention(nn.Module):
    def __init__(self, config: Qwen35Config) -> None:
        super().__init__()
        hidden, size = config.hidden_size, config.head_dim
        self.q_proj = Projection(hidden, config.num_heads * 2 * size)
        self.k_proj = Projection(hidden, config.num_key_value_heads * size)
        self.v_proj = Projection(hidden, config.num_key_value_heads * size)
        self.o_proj = Projection(config.num_heads * size, hidden)
        self.q_norm = OffsetRmsNorm(size, config.rms_norm_eps)
        self.k_norm = OffsetRmsNorm(size, config.rms_norm_eps)


class _Pass:
    """The parts of the head during one pass, in which all depths share the weights."""

    def __init__(self, head: Qwen35Head, embedding: Tensor) -> None:
        layer, dtype = head.layers[0], embedding.dtype
        assert isinstance(layer, _Layer), "the head has one layer"
        attention = layer.self_attn
        self._config = head.config
        self._embedding, self.dtype = embedding, dtype
        self._token_norm, self._hidden_norm = head.pre_fc_norm_embedding, head.pre_fc_norm_hidden
        self._input = head.fc.for_one_pass(dtype)
        self.input_norm, self.output_norm = layer.input_layernorm, head.norm
        self._query = attention.q_proj.for_one_pass(dtype)
        self._key = attention.k_proj.for_one_pass(dtype)
        self._value = attention.v_proj.for_one_pass(dtype)
        self._query_norm, self._key_norm = attention.q_norm, attention.k_norm
        self._attention_output = attention.o_proj.for_one_pass(dtype)
        self._mlp_norm = layer.post_attention_layernorm
        self._mlp = layer.mlp.for_one_pass(dtype)

    def rotation(self, positions: Tensor) -> Rotation:
        return Rotation.at(positions, self._config.rotary_size, theta=self._config.rope_theta)

    def fused(self, tokens: Tensor, hidden: Tensor, positions: Tensor) -> Tensor:
        """Join tokens [n] and hidden states [n, hidden], the tokens first, at any position."""
        embedded = self._embedding[tokens]
        parts = [self._token_norm(embedded), self._hidden_norm(hidden.to(embedded.dtype))]
        return self._input(torch.cat(parts, dim=-1))

    def key_value(self, normed: Tensor, rotation: Rotation) -> KeyValue:
        size = self._config.head_dim
        key = self._key_norm(self._heads(self._key(normed), size))
        value = self._heads(self._value(normed), size)
        return KeyValue(key=self._rotated(key, rotation), value=value)

    def attended(
        self,
        normed: Tensor,
        rotation: Rotation,
        context: KeyValue,
        chain: Sequence[KeyValue],
        spans: Sequence[Span],
    ) -> Tensor:
        # A head's query and its gate are neighbours in what the projection returns.
        query, gate = self._heads(self._query(normed), 2 * self._config.head_dim).chunk(2, dim=-1)
        query = self._rotated(self._query_norm(query), rotation)
        attended = tree_attention(query, context, chain, spans)
        return self._attention_output(attended * torch.sigmoid(gate.flatten(1)))

    def mlp(self, x: Tensor) -> Tensor:
        return self._mlp(self._mlp_norm(x))

    def _rotated(self, x: Tensor, rotation: Rotation) -> Tensor:
        rotary, rest = x.tensor_split((self._config.rotary_size,), dim=-1)
        return torch.cat([rotation.apply(rotary), rest], dim=-1)

    @staticmethod
    def _heads(x: Tensor, size: int) -> Tensor:
        return x.view(len(x), -1, size)


def from_config(config: Mapping[str, Any]) -> Qwen35Head:
    """Build an untrained head for the model of this config.json."""
    return Qwen35Head(Qwen35Config.from_json(config))
