from __future__ import annotations

import pytest
import torch

from specfleet_trainer.compute import Rates, compute_type, measure


@pytest.mark.parametrize(
    ("float32", "bfloat16", "hidden_size", "expected"),
    [
        pytest.param(200e9, 950e9, 2560, torch.bfloat16, id="bfloat16-is-several-times-as-fast"),
        pytest.param(100e9, 0.8e9, 2560, torch.float32, id="bfloat16-is-emulated"),
        pytest.param(100e9, 140e9, 2560, torch.float32, id="not-enough-to-pay-for-conversions"),
        pytest.param(200e9, 950e9, 128, torch.float32, id="small-products"),
    ],
)
def test_compute_type(
    float32: float, bfloat16: float, hidden_size: int, expected: torch.dtype
) -> None:
    assert compute_type(Rates(float32, bfloat16), hidden_size=hidden_size) == expected


def test_rates_are_operations_over_the_shortest_time() -> None:
    times = iter([0.0, 4.0, 10.0, 12.0, 20.0, 23.0, *range(100, 106)])

    rates = measure(clock=lambda: next(times))

    assert rates == Rates(float32=2**29 / 2.0, bfloat16=2**29 / 1.0)
