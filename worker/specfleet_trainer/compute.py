"""The type that a trainer computes in: bfloat16 where this machine's products of it are faster.

With AMX they are several times as fast as those of float32, with AVX2 alone a hundred times slower;
so it is measured, with products that wait for arithmetic, as those of a step do: in a product of a
few rows bfloat16 wins by half the bytes, whatever its arithmetic costs.
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
# Rows, inner and outer size: enough to measure by, and a second where bfloat16 is slowest.
_SIZES = (256, 1024, 1024)
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


def measure(*, clock: Callable[[], float] = time.perf_counter) -> Rates:
    """Measure products of both types on this process's threads."""
    return Rates(float32=_rate(torch.float32, clock), bfloat16=_rate(torch.bfloat16, clock))


def _rate(dtype: torch.dtype, clock: Callable[[], float]) -> float:
    """Return the best of a few: what others do on the machine makes the rest slower."""
    rows, inner, outer = _SIZES
    x, weight = torch.ones(rows, inner, dtype=dtype), torch.ones(outer, inner, dtype=dtype)
    seconds = []
    for _ in range(_REPEATS):
        began = clock()
        torch.mm(x, weight.T)
        seconds.append(clock() - began)
    return 2 * rows * inner * outer / min(seconds)
