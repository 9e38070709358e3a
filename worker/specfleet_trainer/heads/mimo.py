"""The MiMo multi-token-prediction head: one Qwen2 layer on the target's hidden state and a token.

At row t it gets h_t (the target's hidden state before the final norm) and the embedding of x_{t+1},
and its output predicts x_{t+2}; the next depth gets that output, x_{t+2}, and position t+1. The
same function as vLLM's `mimo_mtp.py`, which keeps the norms, zeroes the embedding at position 0 and
applies no further norm before the LM head.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from specfleet_trainer.attention import KeyValue, rotate, tree_attention
from specfleet_trainer.batch import Batch
from specfleet_trainer.checkpoint import CheckpointError

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
            raise CheckpointError(f"config.json: rope_type is {rope_type!r}, expected 'default'")
        if config.get("hidden_act", "silu") != "silu":
            raise CheckpointError(
                f"config.json: hidden_act is {config['hidden_act']!r}, expected 'silu'"
            )
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


class MimoHead(nn.Module):
    """The trainable part of the drafter, float32; attribute names follow the checkpoint."""

    def __init__(self, config: MimoConfig) -> None:
        super().__init__()
        hidden, eps = config.hidden_size, config.rms_norm_eps
        self.config = config
        self.token_layernorm = nn.RMSNorm(hidden, eps)
        self.hidden_layernorm = nn.RMSNorm(hidden, eps)
        self.input_proj = nn.Linear(2 * hidden, hidden, bias=False)
        self.input_layernorm = nn.RMSNorm(hidden, eps)
        self.self_attn = _Attention(config)
        self.post_attention_layernorm = nn.RMSNorm(hidden, eps)
        self.mlp = _Mlp(config)
        self.final_layernorm = nn.RMSNorm(hidden, eps)

    @classmethod
    def from_checkpoint(
        cls, tensors: Mapping[str, NDArray[np.float32]], config: MimoConfig
    ) -> Self:
        """Build the head from its tensors under their checkpoint names."""
        head = cls(config)
        head.load_checkpoint(tensors)
        return head

    @torch.no_grad()
    def load_checkpoint(self, tensors: Mapping[str, NDArray[np.float32]]) -> None:
        """Replace the weights in place; names and shapes must be exactly the head's."""
        own = {PREFIX + name: parameter for name, parameter in self.named_parameters()}
        if own.keys() != tensors.keys():
            raise CheckpointError(
                f"drafter tensors: missing {sorted(own.keys() - tensors.keys())}, "
                f"unexpected {sorted(tensors.keys() - own.keys())}"
            )
        for name, parameter in own.items():
            if tensors[name].shape != tuple(parameter.shape):
                raise CheckpointError(
                    f"{name}: shape is {tensors[name].shape}, expected {tuple(parameter.shape)}"
                )
        for name, parameter in own.items():
            parameter.copy_(torch.tensor(tensors[name]))

    def to_checkpoint(self) -> dict[str, NDArray[np.float32]]:
        """Return copies of the weights under their checkpoint names."""
        return {
            PREFIX + name: parameter.detach().numpy().copy()
            for name, parameter in self.named_parameters()
        }

    def depth_outputs(self, batch: Batch, embedding: Tensor) -> list[Tensor]:
        """Return the output of each depth for the batch's queries, [queries, hidden] each."""
        attention = self.self_attn
        x = self._fuse(embedding[batch.fed], batch.hidden, batch.positions)
        normed = self.input_layernorm(x)
        context = attention.key_value(normed, batch.positions)
        x, normed = x[batch.queries], normed[batch.queries]
        positions = batch.positions[batch.queries]
        outputs: list[Tensor] = []
        chain: list[KeyValue] = []
        for depth in range(1, batch.depths + 1):
            if depth > 1:
                positions = positions + 1
                x = self._fuse(embedding[batch.chain[:, depth - 1]], outputs[-1], positions)
                normed = self.input_layernorm(x)
                chain.append(attention.key_value(normed, positions))
            query = attention.query(normed, positions)
            x = x + attention.o_proj(tree_attention(query, context, chain, batch.spans))
            x = x + self.mlp(self.post_attention_layernorm(x))
            outputs.append(self.final_layernorm(x))
        return outputs

    def _fuse(self, embeddings: Tensor, hidden: Tensor, positions: Tensor) -> Tensor:
        embeddings = embeddings.masked_fill((positions == 0)[:, None], 0.0)
        parts = [self.hidden_layernorm(hidden), self.token_layernorm(embeddings)]
        fused: Tensor = self.input_proj(torch.cat(parts, dim=-1))
        return fused


class _Attention(nn.Module):
    def __init__(self, config: MimoConfig) -> None:
        super().__init__()
        self.config = config
        hidden, size = config.hidden_size, config.head_dim
        self.q_proj = nn.Linear(hidden, config.num_heads * size)
        self.k_proj = nn.Linear(hidden, config.num_key_value_heads * size)
        self.v_proj = nn.Linear(hidden, config.num_key_value_heads * size)
        self.o_proj = nn.Linear(config.num_heads * size, hidden, bias=False)

    def query(self, normed: Tensor, positions: Tensor) -> Tensor:
        return self._rotated(self.q_proj(normed), positions)

    def key_value(self, normed: Tensor, positions: Tensor) -> KeyValue:
        value = self.v_proj(normed).view(len(normed), -1, self.config.head_dim)
        return KeyValue(key=self._rotated(self.k_proj(normed), positions), value=value)

    def _rotated(self, x: Tensor, positions: Tensor) -> Tensor:
        heads = x.view(len(x), -1, self.config.head_dim)
        return rotate(heads, positions, theta=self.config.rope_theta)


class _Mlp(nn.Module):
    def __init__(self, config: MimoConfig) -> None:
        super().__init__()
        hidden, intermediate = config.hidden_size, config.intermediate_size
        self.gate_proj = nn.Linear(hidden, intermediate, bias=False)
        self.up_proj = nn.Linear(hidden, intermediate, bias=False)
        self.down_proj = nn.Linear(intermediate, hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        down: Tensor = self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))
        return down


def from_config(config: Mapping[str, Any]) -> MimoHead:
    """Build an untrained head for the model of this config.json."""
    return MimoHead(MimoConfig.from_json(config))
