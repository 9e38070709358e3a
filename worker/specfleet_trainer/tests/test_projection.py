from __future__ import annotations

import pytest
import torch
from torch import Tensor

from specfleet_trainer.projection import Projection, product


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("bias", [False, True])
def test_several_uses_in_one_pass_have_the_gradients_of_plain_autograd(bias: bool) -> None:
    torch.manual_seed(0)
    projection = Projection(6, 4, bias=bias)
    inputs = [random(rows, 6, seed=rows).requires_grad_() for rows in (3, 5)]
    wanted = [*inputs, *projection.parameters()]
    plain = sum(projection(x).square().sum() for x in inputs)
    assert isinstance(plain, Tensor)
    expected = torch.autograd.grad(plain, wanted)

    project = projection.for_one_pass(torch.float32)
    chained = project(inputs[0]).square().sum() + project(inputs[1]).square().sum()

    torch.testing.assert_close(torch.autograd.grad(chained, wanted), expected)


def test_bfloat16_computes_with_the_weights_as_they_are_now() -> None:
    projection = Projection(6, 4, bias=True)
    x = random(3, 6).bfloat16()
    projection.for_one_pass(torch.bfloat16)(x)
    with torch.no_grad():
        projection.weight.fill_(2.0)
        assert projection.bias is not None
        projection.bias.fill_(1.0)

    projected = projection.for_one_pass(torch.bfloat16)(x)

    expected = 2 * x.float().sum(dim=1, keepdim=True) + 1
    torch.testing.assert_close(projected.float(), expected.expand(-1, 4), rtol=1e-2, atol=1e-2)


def test_an_optimiser_step_is_seen_by_the_next_pass() -> None:
    projection = Projection(6, 4)
    optimizer = torch.optim.AdamW(projection.parameters(), lr=0.1, fused=True)
    x = random(3, 6).bfloat16()
    before = projection.for_one_pass(torch.bfloat16)(x)
    torch.autograd.backward(before.float().sum())

    optimizer.step()

    after = projection.for_one_pass(torch.bfloat16)(x)
    assert not torch.equal(before, after)


@pytest.mark.parametrize(("left", "right"), [(5, 9), (9, 5)])
def test_a_product_of_bfloat16_rows_is_float32_and_near_the_exact_one(
    left: int, right: int
) -> None:
    a, b = random(100, left).bfloat16(), random(100, right, seed=1).bfloat16()

    result = product(a.split(70), b.split(70))

    assert result.dtype == torch.float32 and result.is_contiguous()
    torch.testing.assert_close(result, a.float().T @ b.float(), rtol=1e-2, atol=1e-2)
