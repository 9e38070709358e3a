"""What is known of a model's config.json: the fields that shape a head, and their bounds.

A field that is not there is for whoever needs it to miss; what no head reads is left alone.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

Size = Annotated[int, Field(gt=0, le=1 << 20, strict=True)]
Even = Annotated[Size, Field(multiple_of=2)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(gt=0, le=1)]


@dataclass(frozen=True, slots=True)
class Rope:
    """How positions turn queries and keys."""

    rope_theta: Positive | None = None
    partial_rotary_factor: Share | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """The fields of the part on a language model."""

    hidden_size: Size | None = None
    intermediate_size: Size | None = None
    num_attention_heads: Size | None = None
    num_key_value_heads: Size | None = None
    head_dim: Even | None = None
    rms_norm_eps: Positive | None = None
    tie_word_embeddings: bool | None = None
    rope_theta: Positive | None = None
    partial_rotary_factor: Share | None = None
    rope_parameters: Rope | None = None
    rope_scaling: Rope | None = None

    def __post_init__(self) -> None:
        heads, shared = self.num_attention_heads, self.num_key_value_heads
        if heads is not None and shared is not None and heads % shared:
            raise ValueError(
                f"num_key_value_heads is {shared}, expected a divisor of num_attention_heads, "
                f"which is {heads}"
            )
