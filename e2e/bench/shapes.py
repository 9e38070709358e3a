"""The sizes of the heads that are measured, and random sequences for them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from specfleet_trainer.sequences import Sequence


@dataclass(frozen=True, slots=True)
class Shape:
    """A multi-token-prediction head of MiMo's layout, and the vocabulary it predicts."""

    name: str
    vocabulary: int
    hidden: int
    intermediate: int
    heads: int
    key_value_heads: int
    head_size: int

    def config(self) -> dict[str, object]:
        """Return it as a model's config.json says it."""
        return {
            "vocab_size": self.vocabulary,
            "hidden_size": self.hidden,
            "intermediate_size": self.intermediate,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.key_value_heads,
            "head_dim": self.head_size,
            "rms_norm_eps": 1e-6,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1e6},
        }

    @property
    def matrices(self) -> dict[str, tuple[int, int]]:
        """Return inner and outer size of every weight matrix."""
        query, key_value = self.heads * self.head_size, self.key_value_heads * self.head_size
        return {
            "input_proj": (2 * self.hidden, self.hidden),
            "q_proj": (self.hidden, query),
            "k_proj": (self.hidden, key_value),
            "v_proj": (self.hidden, key_value),
            "o_proj": (query, self.hidden),
            "gate_proj": (self.hidden, self.intermediate),
            "up_proj": (self.hidden, self.intermediate),
            "down_proj": (self.intermediate, self.hidden),
        }

    @property
    def weights(self) -> int:
        """Return how many numbers the matrices have."""
        return sum(math.prod(sizes) for sizes in self.matrices.values())


TINY = Shape("tiny-mimo", 2048, 128, 384, 4, 4, 32)
QWEN = Shape("qwen3.5-4b-mtp", 248_320, 2560, 9216, 16, 4, 256)
"""The sizes of Qwen3.5-4B's head, without the gate that its attention has on top."""
FULL = Shape("120m", 248_320, 2560, 9216, 24, 4, 256)
"""As many parameters as Qwen3.5-4B's head with its gate, 120.6 million."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """How long the requests are that a batch is made of."""

    rows: int = 256
    prompt_tokens: int = 96


def random_table(shape: Shape, generator: torch.Generator) -> Tensor:
    """Return [vocabulary, hidden] for embedding and LM head.

    Scaled so that a normalised output gives logits of deviation 4: a few tokens share most of the
    probability, as a language model's do.
    """
    table = torch.randn(shape.vocabulary, shape.hidden, generator=generator)
    return table.mul_(4.0 / math.sqrt(shape.hidden))


def random_sequences(
    shape: Shape, traffic: Traffic, *, count: int, random: np.random.Generator
) -> list[Sequence]:
    """Return requests whose tokens repeat as words do: the n-th most frequent one 1/n times."""
    frequency = 1.0 / np.arange(1, shape.vocabulary + 1)
    cumulative = np.cumsum(frequency / frequency.sum())
    sequences = []
    for serial in range(count):
        drawn = np.searchsorted(cumulative, random.random(traffic.rows + 1))
        tokens = np.minimum(drawn, shape.vocabulary - 1).astype(np.int32)
        hidden = random.standard_normal((traffic.rows, shape.hidden), dtype=np.float32)
        sequences.append(
            Sequence(
                tokens=tokens,
                fed=tokens[1:],
                hidden=hidden,
                prompt_tokens=traffic.prompt_tokens,
                serial=serial,
            )
        )
    return sequences
