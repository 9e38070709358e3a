"""The type that a trainer computes in: bfloat16 where this machine's products of it are faster.

With AMX or AVX512-BF16 they are several times as fast as those of float32, with AVX2 alone a
hundred times slower; so it is measured, with products of the head's own shapes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

# What bfloat16 costs besides: copies of the weights, conversions around norms and softmax.
LEAST_SPEEDUP = 1.5
# Below this hidden size a step spends its time between the products.
LEAST_HIDDEN_SIZE = 512
# Enough to measure by, and less than a second where bfloat16 is slowest.
_OPERATIONS = 5e8
_REPEATS = 3


@dataclass(frozen=True, slots=True)
class Rates:
    """Floating-point operations per second."""

    float32: float
    bfloat16: float


def compute_type(rates: Rates, *, hidden_size: int) -> torch.dtype:
    """Say which type to compute in."""
    is_faster = rates.bfloat16 >= LEAST_SPEEDUP * rates.float32
    return torch.bfloat16 if is_faster and hidden_size >= LEAST_HIDDEN_SIZE else torch.float32


def measure(inner: int, outer: int, *, clock: Callable[[], float] = time.perf_counter) -> Rates:
    """Measure products [rows, inner] @ [inner, outer], as a step makes them."""
    rows = max(16, min(1024, int(_OPERATIONS / (2 * inner * outer))))
    return Rates(
        float32=_rate(rows, inner, outer, torch.float32, clock),
        bfloat16=_rate(rows, inner, outer, torch.bfloat16, clock),
    )


def _rate(
    rows: int, inner: int, outer: int, dtype: torch.dtype, clock: Callable[[], float]
) -> float:
    """Return the best of a few: what others do on the machine makes the rest slower."""
    x, weight = torch.ones(rows, inner, dtype=dtype), torch.ones(outer, inner, dtype=dtype)
    seconds = []
    for _ in range(_REPEATS):
        began = clock()
        torch.mm(x, weight.T)
        seconds.append(clock() - began)
    return 2 * rows * inner * outer / min(seconds)
