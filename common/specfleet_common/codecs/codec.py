"""The names of the ways a delta can be encoded."""

from __future__ import annotations

import enum


class Codec(enum.StrEnum):
    """How a delta travels; the names are those of the manifest and of the wire."""

    FLOAT32 = "Float32"
    """As it is: safetensors, the only one that the first protocol knew."""
    BFLOAT16 = "BFloat16"
    INT8 = "Int8"
    """256 values share a scale."""
    TERNARY = "Ternary"
    """64 values share a magnitude, and each of them is minus that, zero or that."""

    @property
    def feeds_back(self) -> bool:
        """Say whether so much is lost that the next delta has to make up for it."""
        return self is Codec.TERNARY
