"""The step written plainly: one float32 autograd graph through all depths and the full vocabulary.

Independent of the code under test but for the names of the weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from specfleet_trainer.sequences import Sequence
from specfleet_trainer.step import BETAS, MAX_GRADIENT_NORM


@dataclass
class PlainStep:
    """Trains float32 weights by their checkpoint names, on all rows of single requests."""

    weights: dict[str, Tensor]
    config: dict[str, Any]
    embedding: Tensor
    lm_head: Tensor
    learning_rate: float
    depth_weights: tuple[float, ...]
    through_chain: bool

    def __post_init__(self) -> None:
        for weight in self.weights.values():
            weight.requires_grad_()
        self._optimizer = torch.optim.AdamW(
            self.weights.values(), lr=self.learning_rate, betas=BETAS, weight_decay=0.0
        )

    def run(self, request: Sequence) -> tuple[float, ...]:
        """Make a step and return the losses before it."""
        losses = self.losses(request)
        self._optimizer.zero_grad()
        weights = torch.tensor(self.depth_weights)
        torch.autograd.backward(losses @ weights / weights.sum())
        torch.nn.utils.clip_grad_norm_(self.weights.values(), MAX_GRADIENT_NORM)
        self._optimizer.step()
        return tuple(losses.tolist())

    def losses(self, request: Sequence) -> Tensor:
        """Return the mean loss of each depth over the rows that have all labels."""
        depths, tokens = len(self.depth_weights), torch.from_numpy(request.tokens).long()
        rows = request.rows - depths
        hidden = torch.from_numpy(request.hidden)
        keys: list[Tensor] = []
        values: list[Tensor] = []
        losses = []
        for depth in range(depths):
            # Fed to depth d at row t: token t + 1 + d, at position t + d; all rows are computed.
            fed = tokens[1 + depth : request.rows + 1]
            hidden = hidden[: len(fed)]
            positions = torch.arange(len(fed)) + depth
            hidden = self._layer(hidden, fed, positions, keys, values)
            logits = hidden[:rows] @ self.lm_head.T
            labels = tokens[2 + depth : 2 + depth + rows]
            losses.append(functional.cross_entropy(logits, labels))
            if not self.through_chain:
                hidden = hidden.detach()
        return torch.stack(losses)

    def _layer(
        self,
        hidden: Tensor,
        fed: Tensor,
        positions: Tensor,
        keys: list[Tensor],
        values: list[Tensor],
    ) -> Tensor:
        embedded = self.embedding[fed] * (positions != 0)[:, None]
        parts = [self._norm("hidden_layernorm", hidden), self._norm("token_layernorm", embedded)]
        x = self._linear("input_proj", torch.cat(parts, dim=-1))
        normed = self._norm("input_layernorm", x)
        query = self._rotated("q", normed, positions)
        keys.append(self._rotated("k", normed, positions))
        values.append(self._projected("v", normed))
        x = x + self._linear("self_attn.o_proj", self._attend(query, keys, values))
        normed = self._norm("post_attention_layernorm", x)
        gate = functional.silu(self._linear("mlp.gate_proj", normed))
        x = x + self._linear("mlp.down_proj", gate * self._linear("mlp.up_proj", normed))
        return self._norm("final_layernorm", x)

    def _attend(self, query: Tensor, keys: list[Tensor], values: list[Tensor]) -> Tensor:
        """Attend to the rows up to the own in the first of `keys`, to the own row in the others."""
        rows, heads, size = query.shape
        shared = heads // keys[0].shape[1]
        scores, mixed = [], []
        for depth in range(len(keys)):
            key, value = (x[depth].repeat_interleave(shared, dim=1) for x in (keys, values))
            seen = torch.einsum("qhd,khd->hqk", query, key) / size**0.5
            later = torch.arange(len(key)) > torch.arange(rows)[:, None]
            own = torch.arange(len(key)) == torch.arange(rows)[:, None]
            scores.append(seen.masked_fill(later if depth == 0 else ~own, -torch.inf))
            mixed.append(value)
        weights = torch.cat(scores, dim=-1).softmax(-1)
        return torch.einsum("hqk,khd->qhd", weights, torch.cat(mixed)).flatten(1)

    def _projected(self, which: str, normed: Tensor) -> Tensor:
        name = f"self_attn.{which}_proj"
        flat = self._linear(name, normed) + self._weight(f"{name}.bias")
        return flat.view(len(flat), -1, self.config["head_dim"])

    def _rotated(self, which: str, normed: Tensor, positions: Tensor) -> Tensor:
        x = self._projected(which, normed)
        half = x.shape[-1] // 2
        theta = self.config["rope_parameters"]["rope_theta"]
        angle = (positions[:, None] / theta ** (torch.arange(half) / half))[:, None]
        left, right = x[..., :half], x[..., half:]
        turned = [
            left * angle.cos() - right * angle.sin(),
            right * angle.cos() + left * angle.sin(),
        ]
        return torch.cat(turned, dim=-1)

    def _norm(self, name: str, x: Tensor) -> Tensor:
        weight, eps = self._weight(f"{name}.weight"), float(self.config["rms_norm_eps"])
        return functional.rms_norm(x, list(weight.shape), weight, eps)

    def _linear(self, name: str, x: Tensor) -> Tensor:
        projected: Tensor = x @ self._weight(f"{name}.weight").T
        return projected

    def _weight(self, name: str) -> Tensor:
        return self.weights[f"model.mtp_layers.0.{name}"]
