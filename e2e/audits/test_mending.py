"""What vLLM's CPU build gets wrong in sampling is still wrong there, and right when mended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from e2e.audits.mending import expand

ENDS = torch.tensor([2, 2, 5], dtype=torch.int32)
VALUES = {
    "temperature": torch.tensor([0.8, 0.5, 0.0]),
    "top-k": torch.tensor([7, 8, 9], dtype=torch.int32),
}


def expanded(by: Callable[..., None], values: torch.Tensor) -> list[Any]:
    output = torch.full((5,), -1, dtype=values.dtype)
    by(output, values, ENDS, 0, 1)
    found: list[Any] = output.tolist()
    return found


def test_every_draft_gets_what_its_request_wants() -> None:
    assert expanded(expand, VALUES["temperature"]) == pytest.approx([0.8, 0.8, 1.0, 1.0, 1.0])
    assert expanded(expand, VALUES["top-k"]) == [7, 7, 9, 9, 9]


@pytest.mark.e2e
@pytest.mark.parametrize("name", VALUES)
def test_vllm_still_needs_mending(name: str) -> None:
    import vllm._C  # noqa: F401 - defines what is called
    from vllm.utils.cpu_triton_utils import _expand_kernel_impl

    left = expanded(_expand_kernel_impl, VALUES[name])

    assert left == [-1] * 5, (
        "vLLM has mended its sampler: remove e2e/audits/mending.py and --mended"
    )
