from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from specfleet_trainer.batch import NO_LABEL
from specfleet_trainer.logits import BLOCK_ROWS
from specfleet_trainer.loss import cross_entropy


def inputs(rows: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(3)
    output = torch.randn(rows, 8, generator=random).requires_grad_()
    labels = torch.randint(0, 30, (rows,), generator=random)
    return output, labels, torch.randn(30, 8, generator=random)


@pytest.mark.parametrize("rows", [5, BLOCK_ROWS, 2 * BLOCK_ROWS + 3])
def test_losses_and_gradient_equal_autograd_through_all_logits(rows: int) -> None:
    output, labels, lm_head = inputs(rows)
    labels[::3] = NO_LABEL
    weights = torch.rand(rows, generator=torch.Generator().manual_seed(4))
    expected = functional.cross_entropy(
        output @ lm_head.T, labels, ignore_index=NO_LABEL, reduction="none"
    )
    (gradient,) = torch.autograd.grad(expected @ weights, output)

    actual = cross_entropy(output, labels, lm_head)

    torch.autograd.backward(actual @ weights)
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(output.grad, gradient)


def test_no_labels_give_no_loss_and_no_gradient() -> None:
    output, labels, lm_head = inputs(4)

    actual = cross_entropy(output, torch.full_like(labels, NO_LABEL), lm_head)

    torch.autograd.backward(actual.sum())
    assert not actual.any()
    assert output.grad is not None and not output.grad.any()


def test_bfloat16_logits_of_real_size_cost_no_accuracy() -> None:
    random = torch.Generator().manual_seed(5)
    output = torch.randn(64, 128, generator=random).bfloat16().requires_grad_()
    lm_head = torch.randn(3000, 128, generator=random).bfloat16()
    labels = (output @ lm_head.T).topk(3).indices[:, 2]
    exact = output.detach().float().requires_grad_()
    expected = functional.cross_entropy(exact @ lm_head.float().T, labels, reduction="none")
    torch.autograd.backward(expected.sum())

    actual = cross_entropy(output, labels, lm_head)

    torch.autograd.backward(actual.sum())
    assert exact.grad is not None and output.grad is not None
    torch.testing.assert_close(actual, expected, rtol=1e-3, atol=1e-3)
    assert (output.grad - exact.grad).norm() < 0.005 * exact.grad.norm()
