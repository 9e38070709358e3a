"""The engine's drafting with a Qwen3.5 head, imitated one position at a time in float64.

Written from the definition of the layers and independent of the code under test.
"""

from __future__ import annotations

import numpy as np

from specfleet_trainer.tests.naive import Array, NaiveEngine


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


class NaiveQwen35(NaiveEngine):
    """Its cache and chain are those of any head; its layer is not."""

    def _layer(self, hidden: Array, position: int, token: int) -> Array:
        fused = self._weight("fc.weight") @ np.concatenate(
            [
                self._norm("pre_fc_norm_embedding", self.embedding[token]),
                self._norm("pre_fc_norm_hidden", hidden),
            ]
        )
        x = fused + self._attention(self._norm("layers.0.input_layernorm", fused), position)
        normed = self._norm("layers.0.post_attention_layernorm", x)
        gate = self._weight("layers.0.mlp.gate_proj.weight") @ normed
        up = self._weight("layers.0.mlp.up_proj.weight") @ normed
        x = x + self._weight("layers.0.mlp.down_proj.weight") @ (gate * sigmoid(gate) * up)
        return self._norm("norm", x)

    def _attention(self, normed: Array, position: int) -> Array:
        size = int(str(self.config["head_dim"]))
        queries_and_gates = self._projected("q", normed).reshape(-1, 2, size)
        keys = self._projected("k", normed).reshape(-1, size)
        self.keys.append(
            np.array([self._turned(self._head_norm("k", key), position) for key in keys])
        )
        self.values.append(self._projected("v", normed).reshape(-1, size))
        mixed = []
        for head, (query, gate) in enumerate(queries_and_gates):
            group = head * len(keys) // len(queries_and_gates)
            turned = self._turned(self._head_norm("q", query), position)
            scores = np.array([key[group] @ turned for key in self.keys]) / np.sqrt(size)
            weights = np.exp(scores - scores.max())
            weights /= weights.sum()
            seen = np.array([value[group] for value in self.values])
            mixed.append(weights @ seen * sigmoid(gate))
        attended: Array = self._weight("layers.0.self_attn.o_proj.weight") @ np.concatenate(mixed)
        return attended

    def _projected(self, which: str, normed: Array) -> Array:
        projected: Array = self._weight(f"layers.0.self_attn.{which}_proj.weight") @ normed
        return projected

    def _head_norm(self, which: str, x: Array) -> Array:
        return self._norm(f"layers.0.self_attn.{which}_norm", x)

    def _turned(self, x: Array, position: int) -> Array:
        """Rotate the pairs (i, i + half) of the first dimensions; the others stay."""
        rope = self.config["rope_parameters"]
        assert isinstance(rope, dict)
        half = int(len(x) * rope["partial_rotary_factor"]) // 2
        turned = x.copy()
        for i in range(half):
            angle = position * rope["rope_theta"] ** (-i / half)
            left, right = x[i], x[i + half]
            turned[i] = left * np.cos(angle) - right * np.sin(angle)
            turned[i + half] = right * np.cos(angle) + left * np.sin(angle)
        return turned

    def _norm(self, name: str, x: Array) -> Array:
        scale = np.sqrt(np.mean(x * x) + float(str(self.config["rms_norm_eps"])))
        normed: Array = x / scale * (1 + self._weight(f"{name}.weight"))
        return normed

    def _weight(self, name: str) -> Array:
        return self.weights[f"mtp.{name}"]
