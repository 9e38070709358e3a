"""What a bad worker does to its traffic and to what it sends."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from specfleet_common.tensors import Array, TensorMap, norm
from specfleet_trainer.sequences import Sequence as Rows

FLIPPED_TIMES = 5.0
NOISE_TIMES = 10.0


class Fault(enum.StrEnum):
    """How the last worker of a federation is bad; the values are words for a table."""

    ABSENT = "sends nothing"
    FLIPPED = f"sends its delta times −{FLIPPED_TIMES:g}"
    NOISE = f"sends noise, {NOISE_TIMES:g} times its delta's norm"
    OPPOSED = "sends its delta times −1"
    LABELS = "trains on shuffled tokens"


def seen(share: Sequence[Rows], fault: Fault | None, seed: int) -> list[Rows]:
    """Return the requests that a worker trains on; shuffled tokens keep their frequencies."""
    if fault is not Fault.LABELS:
        return list(share)
    random = np.random.default_rng(seed)
    return [_with_tokens(rows, random.permutation(rows.tokens)) for rows in share]


def sent(delta: TensorMap, fault: Fault | None, random: np.random.Generator) -> TensorMap:
    """Return what a worker sends in place of its delta."""
    match fault:
        case Fault.FLIPPED:
            return {name: -np.float32(FLIPPED_TIMES) * array for name, array in delta.items()}
        case Fault.OPPOSED:
            return {name: -array for name, array in delta.items()}
        case Fault.NOISE:
            return _noise(delta, NOISE_TIMES * norm(delta), random)
        case _:
            return delta


def _with_tokens(rows: Rows, tokens: np.ndarray) -> Rows:
    return replace(rows, tokens=tokens, fed=tokens[1:])


def _noise(like: TensorMap, size: float, random: np.random.Generator) -> dict[str, Array]:
    scale = np.float32(size / math.sqrt(sum(array.size for array in like.values())))
    return {
        name: scale * random.standard_normal(array.shape, np.float32)
        for name, array in like.items()
    }
