"""A training step as one would first write it, to compare the product's with.

Float32, autograd through all depths and the full vocabulary, AdamW. It shares no code with the
trainer, so that it stays what it is when the trainer changes; a test holds both to one result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from e2e.bench.shapes import Shape
from specfleet_trainer.sequences import Sequence as Request

ROPE_THETA = 1e6
EPSILON = 1e-6
BETAS = (0.9, 0.95)
MAX_GRADIENT_NORM = 1.0
PREFIX = "model.mtp_layers.0."


@dataclass(frozen=True, slots=True)
class Dense:
    """B requests of T rows each, all with the same number of prompt tokens."""

    tokens: Tensor
    """[B, T + 1]"""
    hidden: Tensor
    """[B, T, hidden]"""
    first: int
    """The first row that drafts an output token."""


def dense(requests: Sequence[Request]) -> Dense:
    """Stack requests of equal length."""
    return Dense(
        tokens=torch.from_numpy(np.stack([r.tokens for r in requests]).astype(np.int64)),
        hidden=torch.from_numpy(np.stack([r.hidden for r in requests])),
        first=requests[0].prompt_tokens - 1,
    )


class PlainStep:
    """Trains one head of checkpoint weights in place."""

    def __init__(
        self,
        weights: Mapping[str, NDArray[np.float32]],
        shape: Shape,
        table: Tensor,
        *,
        learning_rate: float,
        depth_weights: Sequence[float],
    ) -> None:
        self._shape = shape
        self._table = table
        self._depth_weights = [weight / sum(depth_weights) for weight in depth_weights]
        self.weights = {
            name.removeprefix(PREFIX): nn.Parameter(torch.tensor(value))
            for name, value in weights.items()
        }
        self._optimizer = torch.optim.AdamW(
            self.weights.values(), lr=learning_rate, betas=BETAS, weight_decay=0.0
        )

    def run(self, batch: Dense) -> list[float]:
        """Take one step; return the loss of each depth before it."""
        self._optimizer.zero_grad()
        losses = self._losses(batch)
        loss = torch.stack(
            [weight * one for weight, one in zip(self._depth_weights, losses, strict=True)]
        ).sum()
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(self.weights.values(), MAX_GRADIENT_NORM)
        self._optimizer.step()
        return [one.item() for one in losses]

    def _losses(self, batch: Dense) -> list[Tensor]:
        depths, tokens = len(self._depth_weights), batch.tokens
        rows = batch.hidden.shape[1]
        asked = torch.arange(batch.first, rows - depths)
        positions = torch.arange(rows)

        x = self._fuse(tokens[:, 1:], batch.hidden, positions)
        normed = self._norm(x, "input_layernorm")
        keys, values = self._key_value(normed, positions)
        x, normed = x[:, asked], normed[:, asked]
        later = positions[None, :] > asked[:, None]
        chain: list[tuple[Tensor, Tensor]] = []
        losses = []
        output = batch.hidden
        for depth in range(depths):
            if depth > 0:
                x = self._fuse(tokens[:, asked + depth + 1], output, asked + depth)
                normed = self._norm(x, "input_layernorm")
                chain.append(self._key_value(normed, asked + depth))
            query = self._heads(normed, "q_proj", asked + depth)
            mixed = self._attend(query, keys, values, chain, later)
            x = x + self._linear(mixed, "self_attn.o_proj")
            y = self._norm(x, "post_attention_layernorm")
            gate, up = self._linear(y, "mlp.gate_proj"), self._linear(y, "mlp.up_proj")
            x = x + self._linear(functional.silu(gate) * up, "mlp.down_proj")
            output = self._norm(x, "final_layernorm")
            logits = output.flatten(0, 1) @ self._table.T
            labels = tokens[:, asked + depth + 2].flatten()
            losses.append(functional.cross_entropy(logits, labels))
        return losses

    def _fuse(self, tokens: Tensor, hidden: Tensor, positions: Tensor) -> Tensor:
        embedded = self._table[tokens].masked_fill((positions == 0)[None, :, None], 0.0)
        parts = [self._norm(hidden, "hidden_layernorm"), self._norm(embedded, "token_layernorm")]
        return self._linear(torch.cat(parts, -1), "input_proj")

    def _key_value(self, normed: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Return both as [B, rows, query heads, head size]."""
        groups = self._shape.heads // self._shape.key_value_heads
        key = self._heads(normed, "k_proj", positions)
        value = self._linear(normed, "self_attn.v_proj").unflatten(-1, (-1, self._shape.head_size))
        return key.repeat_interleave(groups, 2), value.repeat_interleave(groups, 2)

    def _heads(self, normed: Tensor, name: str, positions: Tensor) -> Tensor:
        """Return a projection split into heads and rotated to the rows' positions."""
        size = self._shape.head_size
        heads = self._linear(normed, f"self_attn.{name}").unflatten(-1, (-1, size))
        frequency = ROPE_THETA ** -(torch.arange(0, size, 2) / size)
        angle = (positions[:, None] * frequency)[None, :, None]
        left, right = heads.chunk(2, -1)
        turned = [
            left * angle.cos() - right * angle.sin(),
            right * angle.cos() + left * angle.sin(),
        ]
        return torch.cat(turned, -1)

    def _attend(
        self,
        query: Tensor,
        keys: Tensor,
        values: Tensor,
        chain: Sequence[tuple[Tensor, Tensor]],
        later: Tensor,
    ) -> Tensor:
        """Attend to the rows up to the query's own, and to the query's own chain."""
        scale = self._shape.head_size**-0.5
        scores = torch.einsum("bnhd,bthd->bhnt", query, keys) * scale
        scores = scores.masked_fill(later, float("-inf"))
        own = [(query * key).sum(-1).transpose(1, 2)[..., None] * scale for key, _ in chain]
        weights = torch.cat([scores, *own], -1).softmax(-1)
        rows = keys.shape[1]
        mixed = torch.einsum("bhnt,bthd->bnhd", weights[..., :rows], values)
        for depth, (_, value) in enumerate(chain):
            mixed = mixed + weights[..., rows + depth].transpose(1, 2)[..., None] * value
        return mixed.flatten(2)

    def _linear(self, x: Tensor, name: str) -> Tensor:
        return functional.linear(
            x, self.weights[f"{name}.weight"], self.weights.get(f"{name}.bias")
        )

    def _norm(self, x: Tensor, name: str) -> Tensor:
        weight = self.weights[f"{name}.weight"]
        return functional.rms_norm(x, (self._shape.hidden,), weight, EPSILON)
