from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from specfleet_trainer import loss
from specfleet_trainer.batch import NO_LABEL


def inputs(rows: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(3)
    output = torch.randn(rows, 8, generator=random).requires_grad_()
    labels = torch.randint(0, 30, (rows,), generator=random)
    return output, labels, torch.randn(30, 8, generator=random)


@pytest.mark.parametrize("rows", [5, loss.BLOCK_ROWS, 2 * loss.BLOCK_ROWS + 3])
def test_loss_and_gradient_equal_autograd_through_all_logits(rows: int) -> None:
    output, labels, lm_head = inputs(rows)
    labels[::3] = NO_LABEL
    expected = functional.cross_entropy(output @ lm_head.T, labels, ignore_index=NO_LABEL)
    (gradient,) = torch.autograd.grad(2.0 * expected, output)

    actual = loss.mean_cross_entropy(output, labels, lm_head)

    torch.autograd.backward(2.0 * actual)
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(output.grad, gradient)


def test_no_labels_give_no_loss_and_no_gradient() -> None:
    output, labels, lm_head = inputs(4)

    actual = loss.mean_cross_entropy(output, torch.full_like(labels, NO_LABEL), lm_head)

    torch.autograd.backward(actual)
    assert actual.item() == 0.0
    assert output.grad is not None and not output.grad.any()


def test_depth_weights_are_normalised_to_sum_one() -> None:
    assert loss.normalised((2.0, 1.0, 1.0)) == (0.5, 0.25, 0.25)


@pytest.mark.parametrize("weights", [(), (0.0, 0.0), (1.0, -0.5)])
def test_depth_weights_without_a_positive_sum_are_refused(weights: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="depth weights are"):
        loss.normalised(weights)
