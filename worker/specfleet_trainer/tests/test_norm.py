from __future__ import annotations

import torch

from specfleet_trainer.norm import RmsNorm


def test_output_and_gradients_are_those_of_the_definition() -> None:
    random = torch.Generator().manual_seed(0)
    x = torch.randn(7, 5, generator=random).requires_grad_()
    norm = RmsNorm(5, eps=1e-3)
    with torch.no_grad():
        norm.weight.copy_(torch.randn(5, generator=random))
    expected = x / (x.square().mean(-1, keepdim=True) + 1e-3).sqrt() * norm.weight
    upstream = torch.randn(7, 5, generator=random)
    gradients = torch.autograd.grad(expected, [x, norm.weight], upstream)

    normed = norm(x)

    torch.testing.assert_close(normed, expected)
    torch.testing.assert_close(torch.autograd.grad(normed, [x, norm.weight], upstream), gradients)


def test_statistics_of_bfloat16_are_float32() -> None:
    x = torch.randn(1, 4096, generator=torch.Generator().manual_seed(0)).bfloat16()

    normed = RmsNorm(4096, eps=1e-6)(x)

    assert normed.dtype == torch.bfloat16
    torch.testing.assert_close(normed.float().square().mean().item(), 1.0, rtol=1e-3, atol=0.0)
