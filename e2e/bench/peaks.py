"""The machine's peaks: matrix products in bfloat16 and float32, and copying between memory."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from e2e.bench.roofline import Peaks
from e2e.bench.timing import repeated

PRODUCTS = ((512, 2560, 9216), (2048, 2560, 9216), (2048, 2560, 4096), (4096, 4096, 4096))
"""Rows, inner and columns; the best of them is the peak."""
COPIED_BYTES = 1 << 30
"""More than the caches of any processor hold, as a step's weights, gradients and moments are."""
SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class MeasuredPeaks:
    """What all cores together reach."""

    bfloat16_flops_per_second: float
    float32_flops_per_second: float
    bytes_per_second: float
    """Read and written together, of a copy."""

    def of(self, dtype: torch.dtype) -> Peaks:
        """Return the peaks of work in one type."""
        flops = {
            torch.bfloat16: self.bfloat16_flops_per_second,
            torch.float32: self.float32_flops_per_second,
        }
        return Peaks(flops[dtype], self.bytes_per_second)


def measure_peaks() -> MeasuredPeaks:
    """Measure with as many threads as torch has been given."""
    return MeasuredPeaks(
        bfloat16_flops_per_second=_product_peak(torch.bfloat16),
        float32_flops_per_second=_product_peak(torch.float32),
        bytes_per_second=_copy_peak(),
    )


def _product_peak(dtype: torch.dtype) -> float:
    return max(_product_speed(dtype, *sizes) for sizes in PRODUCTS)


def _product_speed(dtype: torch.dtype, rows: int, inner: int, columns: int) -> float:
    left = torch.randn(rows, inner).to(dtype)
    right = torch.randn(columns, inner).to(dtype)
    # Into the same memory again and again, or the kernel's handing out of pages is measured too.
    out = torch.empty(rows, columns, dtype=dtype)
    timing = repeated(lambda: torch.mm(left, right.T, out=out), at_least=3, seconds=SECONDS)
    return 2.0 * rows * inner * columns / timing.best_seconds


def _copy_peak() -> float:
    source = torch.zeros(COPIED_BYTES // 4)
    target = torch.zeros_like(source)
    timing = repeated(lambda: target.copy_(source), at_least=3, seconds=SECONDS)
    return 2.0 * COPIED_BYTES / timing.best_seconds
