from __future__ import annotations

import pytest
import torch

from specfleet_trainer.depth_weights import dpace_weights, fixed_weights, normalised


def test_depth_weights_are_normalised_to_sum_one() -> None:
    assert normalised((2.0, 1.0, 1.0)) == (0.5, 0.25, 0.25)


@pytest.mark.parametrize("weights", [(), (0.0, 0.0), (1.0, -0.5)])
def test_depth_weights_without_a_positive_sum_are_refused(weights: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="depth weights are"):
        normalised(weights)


def test_fixed_weights_are_shared_by_the_rows_with_a_label() -> None:
    labelled = torch.tensor([[True, True], [True, False], [False, False]])

    weights = fixed_weights(labelled, (3.0, 1.0))

    assert weights.tolist() == [[0.375, 0.25], [0.375, 0.0], [0.0, 0.0]]


def test_dpace_weights_are_those_of_the_paper_over_their_sum() -> None:
    likely = torch.tensor([[1.0, 0.5, 0.0], [0.2, 1.0, 1.0]])

    weights = dpace_weights(-likely.log(), torch.ones(2, 3, dtype=torch.bool))

    # p = [1, .75, .5] and [.6, 1, 1]; P = [1, .75, .375] and [.6, .6, .6].
    expected = torch.tensor([[2.125, 1.125, 0.375], [1.8, 1.2, 0.6]])
    torch.testing.assert_close(weights, expected / expected.sum())


def test_dpace_gives_no_weight_from_the_first_missing_label_on() -> None:
    labelled = torch.tensor([[True, False, False], [True, True, True]])

    weights = dpace_weights(torch.ones(2, 3), labelled)

    assert weights[0, 0] > 0 and not weights[0, 1:].any() and weights[1].all()


def test_dpace_weights_carry_no_gradient() -> None:
    losses = torch.ones(2, 3, requires_grad=True)

    assert not dpace_weights(losses, torch.ones(2, 3, dtype=torch.bool)).requires_grad


def test_without_any_label_no_row_has_weight() -> None:
    labelled = torch.zeros(2, 3, dtype=torch.bool)

    assert not dpace_weights(torch.zeros(2, 3), labelled).any()
    assert not fixed_weights(labelled, (1.0, 1.0, 1.0)).any()
