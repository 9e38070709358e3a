"""The engine's drafting, imitated one position at a time: a list of keys and values, and a chain.

Written from the definition of the layers and independent of the code under test.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass
class NaiveEngine:
    """Holds the keys and values of one request, as the engine's cache does."""

    weights: dict[str, Array]
    config: dict[str, object]
    embedding: Array
    keys: list[Array] = field(default_factory=list)
    values: list[Array] = field(default_factory=list)

    def draft(self, hidden: Array, position: int, tokens: list[int], earlier: int) -> list[Array]:
        """Feed tokens[0] at `position`, keep its key, then unroll the other tokens.

        `earlier` is how many rows are in the cache before this one.
        """
        del self.keys[earlier:], self.values[earlier:]
        outputs = []
        for depth, token in enumerate(tokens):
            hidden = self._layer(hidden, position + depth, token)
            outputs.append(hidden)
        return outputs

    def _layer(self, hidden: Array, position: int, token: int) -> Array:
        embedding = self.embedding[token] * (position != 0)
        x = self._weight("input_proj.weight") @ np.concatenate(
            [self._norm("hidden_layernorm", hidden), self._norm("token_layernorm", embedding)]
        )
        x = x + self._attention(self._norm("input_layernorm", x), position)
        normed = self._norm("post_attention_layernorm", x)
        gate = self._weight("mlp.gate_proj.weight") @ normed
        up = self._weight("mlp.up_proj.weight") @ normed
        x = x + self._weight("mlp.down_proj.weight") @ (gate / (1 + np.exp(-gate)) * up)
        return self._norm("final_layernorm", x)

    def _attention(self, normed: Array, position: int) -> Array:
        query = self._rotated("q", normed, position)
        self.keys.append(self._rotated("k", normed, position))
        self.values.append(self._projected("v", normed))
        mixed = []
        heads, size = query.shape
        for head in range(heads):
            group = head // (heads // self.keys[0].shape[0])
            scores = np.array([key[group] @ query[head] for key in self.keys]) / np.sqrt(size)
            weights = np.exp(scores - scores.max())
            weights /= weights.sum()
            mixed.append(
                sum(w * value[group] for w, value in zip(weights, self.values, strict=True))
            )
        attended: Array = self._weight("self_attn.o_proj.weight") @ np.concatenate(mixed)
        return attended

    def _projected(self, which: str, normed: Array) -> Array:
        name = f"self_attn.{which}_proj"
        flat = self._weight(f"{name}.weight") @ normed + self._weight(f"{name}.bias")
        return flat.reshape(-1, int(str(self.config["head_dim"])))

    def _rotated(self, which: str, normed: Array, position: int) -> Array:
        x = self._projected(which, normed)
        half = x.shape[1] // 2
        rope = self.config["rope_parameters"]
        assert isinstance(rope, dict)
        angle = position / rope["rope_theta"] ** (np.arange(half) / half)
        rotated = np.empty_like(x)
        rotated[:, :half] = x[:, :half] * np.cos(angle) - x[:, half:] * np.sin(angle)
        rotated[:, half:] = x[:, half:] * np.cos(angle) + x[:, :half] * np.sin(angle)
        return rotated

    def _norm(self, name: str, x: Array) -> Array:
        scale = np.sqrt(np.mean(x * x) + float(str(self.config["rms_norm_eps"])))
        normed: Array = x / scale * self._weight(f"{name}.weight")
        return normed

    def _weight(self, name: str) -> Array:
        return self.weights[f"model.mtp_layers.0.{name}"]
