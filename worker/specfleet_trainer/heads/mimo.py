"""The MiMo multi-token-prediction head: one Qwen2 layer on the target's hidden state and a token.

At row t it gets h_t (the target's hidden state before the final norm) and the embedding of x_{t+1},
and its output predicts x_{t+2}; the next depth gets that output, x_{t+2}, and position t+1. The
same function as vLLM's `mimo_mtp.py`, which keeps the norms, zeroes the embedding at position 0 and
applies no further norm before the LM head.
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
from specfleet_trainer.norm import RmsNorm
from specfleet_trainer.projection import Projection

PREFIX = "model.mtp_layers.0."
# What vLLM assumes for Qwen2 layers whose config does not say.
DEFAULT_ROPE_THETA = 1_000_000.0


@dataclass(frozen=True, slots=True)
class MimoConfig:
    """The numbers of a model's config.json that shape the head."""

    hidden_size: int
    intermediate_size: int
    num_heads: int
    num_key_value_heads: int
    head_dim: int
    rope_theta: float
    rms_norm_eps: float

    @classmethod
    def from_json(cls, config: Mapping[str, Any]) -> Self:
        """Read the config; refuse what this head does not compute."""
        rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
        rope_type = rope.get("rope_type", rope.get("type", "default"))
        if rope_type != "default":
            raise CheckpointError(f"config.json: rope_type is {shown(rope_type)}, expected default")
        if config.get("hidden_act", "silu") != "silu":
            raise CheckpointError(
                f"config.json: hidden_act is {shown(config['hidden_act'])}, expected silu"
            )
        try:
            heads = config["num_attention_heads"]
            return cls(
                hidden_size=config["hidden_size"],
                intermediate_size=config["intermediate_size"],
                num_heads=heads,
                num_key_value_heads=config.get("num_key_value_heads") or heads,
                head_dim=config.get("head_dim") or config["hidden_size"] // heads,
                rope_theta=rope.get("rope_theta") or config.get("rope_theta") or DEFAULT_ROPE_THETA,
                rms_norm_eps=config["rms_norm_eps"],
            )
        except KeyError as error:
            raise CheckpointError(
                f"config.json: no {error.args[0]}, expected the config of a MiMo model"
            ) from error


class MimoHead(nn.Module):
    """The trainable part of the drafter, float32; attribute names follow the checkpoint."""

    def __init__(self, config: MimoConfig) -> None:
        super().__init__()
        hidden, eps = config.hidden_size, config.rms_norm_eps
        self.config = config
        self.token_layernorm = RmsNorm(hidden, eps)
        self.hidden_layernorm = RmsNorm(hidden, eps)
        self.input_proj = Projection(2 * hidden, hidden)
        self.input_layernorm = RmsNorm(hidden, eps)
        self.self_attn = _Attention(config)
        self.post_attention_layernorm = RmsNorm(hidden, eps)
        self.mlp = GatedMlp(hidden, config.intermediate_size)
        self.final_layernorm = RmsNorm(hidden, eps)

    @classmethod
    def from_checkpoint(
        cls, tensors: Mapping[str, NDArray[np.float32]], config: MimoConfig
    ) -> Self:
        """Build the head from its tensors under their checkpoint names."""
        head = cls(config)
        head.load_checkpoint(tensors)
        return head

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


class _Attention(nn.Module):
    def __init__(self, config: MimoConfig) -> None:
        super().__init__()
        hidden, size = config.hidden_size, config.head_dim
        self.q_proj = Projection(hidden, config.num_heads * size, bias=True)
        self.k_proj = Projection(hidden, config.num_key_value_heads * size, bias=True)
        self.v_proj = Projection(hidden, config.num_key_value_heads * size, bias=True)
        self.o_proj = Projection(config.num_heads * size, hidden)


class _Pass:
    """The parts of the layer during one pass, in which all depths share the weights."""

    def __init__(self, head: MimoHead, embedding: Tensor) -> None:
        attention, dtype = head.self_attn, embedding.dtype
        self._config = head.config
        self._embedding, self.dtype = embedding, dtype
        self._hidden_norm, self._token_norm = head.hidden_layernorm, head.token_layernorm
        self._input = head.input_proj.for_one_pass(dtype)
        self.input_norm, self.output_norm = head.input_layernorm, head.final_layernorm
        self._query = attention.q_proj.for_one_pass(dtype)
        self._key = attention.k_proj.for_one_pass(dtype)
        self._value = attention.v_proj.for_one_pass(dtype)
        self._attention_output = attention.o_proj.for_one_pass(dtype)
        self._mlp_norm = head.post_attention_layernorm
        self._mlp = head.mlp.for_one_pass(dtype)

    def rotation(self, positions: Tensor) -> Rotation:
        return Rotation.at(positions, self._config.head_dim, theta=self._config.rope_theta)

    def fused(self, tokens: Tensor, hidden: Tensor, positions: Tensor) -> Tensor:
        """Join tokens [n] and hidden states [n, hidden]; position 0 has no token in vLLM."""
        embedded = self._embedding[tokens].masked_fill_((positions == 0)[:, None], 0.0)
        parts = [self._hidden_norm(hidden.to(embedded.dtype)), self._token_norm(embedded)]
        return self._input(torch.cat(parts, dim=-1))

    def key_value(self, normed: Tensor, rotation: Rotation) -> KeyValue:
        key = rotation.apply(self._heads(self._key(normed)))
        return KeyValue(key=key, value=self._heads(self._value(normed)))

    def attended(
        self,
        normed: Tensor,
        rotation: Rotation,
        context: KeyValue,
        chain: Sequence[KeyValue],
        spans: Sequence[Span],
    ) -> Tensor:
        query = rotation.apply(self._heads(self._query(normed)))
        return self._attention_output(tree_attention(query, context, chain, spans))

    def mlp(self, x: Tensor) -> Tensor:
        return self._mlp(self._mlp_norm(x))

    def _heads(self, x: Tensor) -> Tensor:
        return x.view(len(x), -1, self._config.head_dim)


def from_config(config: Mapping[str, Any]) -> MimoHead:
    """Build an untrained head for the model of this config.json."""
    return MimoHead(MimoConfig.from_json(config))
