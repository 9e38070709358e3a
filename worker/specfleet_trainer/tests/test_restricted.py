from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from specfleet_trainer.batch import NO_LABEL
from specfleet_trainer.logits import top_tokens
from specfleet_trainer.loss import cross_entropy
from specfleet_trainer.restricted import (
    Candidates,
    Frequencies,
    Sampling,
    draw_candidates,
    restricted_cross_entropy,
    sampling_for,
)

VOCABULARY, HIDDEN, ROWS = 60_000, 128, 256
ZIPF = 1.0 / torch.arange(1, VOCABULARY + 1)


@dataclass(frozen=True)
class Problem:
    """Hidden states and an LM head whose softmax looks like a drafter's."""

    output: Tensor
    labels: Tensor
    lm_head: Tensor

    @property
    def own(self) -> Tensor:
        """Return the top tokens of a head that has moved on since."""
        random = torch.Generator().manual_seed(9)
        moved = 0.03 * self.output.std() * torch.randn(self.output.shape, generator=random)
        return top_tokens(self.output + moved, self.lm_head, Sampling().own)

    @property
    def candidates(self) -> Candidates:
        """Return candidates drawn by the frequencies of much traffic."""
        frequencies, random = Frequencies(VOCABULARY), torch.Generator().manual_seed(8)
        frequencies.see(torch.multinomial(ZIPF, 100_000, True, generator=random).numpy())
        return draw_candidates(
            self.labels.numpy(), frequencies.chances(), Sampling().draws, np.random.default_rng(1)
        )

    def error(self, own: Tensor, candidates: Candidates) -> float:
        """Return the error of dL/dh in Frobenius norm, relative to the full softmax's."""
        exact, approximate = (self.output.clone().requires_grad_() for _ in range(2))
        torch.autograd.backward(cross_entropy(exact, self.labels, self.lm_head).sum())
        losses = restricted_cross_entropy(approximate, self.labels, own, candidates, self.lm_head)
        torch.autograd.backward(losses.sum())
        assert exact.grad is not None and approximate.grad is not None
        return float((approximate.grad - exact.grad).norm() / exact.grad.norm())


def drafting(confidence: float) -> Problem:
    """Return rows that mean one of a dozen tokens, more or less clearly.

    Frequent tokens are meant more often and have larger logits, which gives the long tail.
    """
    random = torch.Generator().manual_seed(0)
    table = torch.randn(VOCABULARY, HIDDEN, generator=random) / HIDDEN**0.5
    meant = torch.multinomial(ZIPF, ROWS * 12, True, generator=random).view(ROWS, 12)
    shares = torch.rand(ROWS, 12, generator=random).square()
    shares[:, 0] += 0.6
    hidden = torch.einsum("nk,nkh->nh", shares, table[meant])
    hidden *= confidence / hidden.norm(dim=1, keepdim=True)
    hidden += 0.1 * confidence / HIDDEN**0.5 * torch.randn(hidden.shape, generator=random)
    output = torch.cat([hidden, torch.ones(ROWS, 1)], dim=1)
    lm_head = torch.cat([table, 0.5 * ZIPF.log()[:, None]], dim=1)
    probabilities = (output @ lm_head.T).softmax(-1)
    labels = torch.multinomial(probabilities, 1, generator=random)[:, 0]
    return Problem(output=output, labels=labels, lm_head=lm_head)


# The mass of the most likely token is on average 0.35, 0.58, 0.82.
CONFIDENCES = [12.0, 16.0, 24.0]


@pytest.mark.parametrize("confidence", CONFIDENCES)
def test_the_gradient_is_within_two_percent_of_the_full_softmaxs(confidence: float) -> None:
    problem = drafting(confidence)

    assert problem.error(problem.own, problem.candidates) < 0.02


@pytest.mark.parametrize("confidence", CONFIDENCES)
def test_without_the_correction_it_is_not(confidence: float) -> None:
    problem = drafting(confidence)
    drawn = problem.candidates
    uncorrected = Candidates(ids=drawn.ids, correction=torch.zeros_like(drawn.correction))

    assert problem.error(problem.own, uncorrected) > 0.1


@pytest.mark.parametrize("confidence", CONFIDENCES)
def test_without_the_rows_own_tokens_it_is_not(confidence: float) -> None:
    problem = drafting(confidence)
    only_labels = problem.labels[:, None].expand(-1, Sampling().own)

    assert problem.error(only_labels, problem.candidates) > 0.04


def small(rows: int = 7) -> tuple[Tensor, Tensor, Tensor]:
    random = torch.Generator().manual_seed(3)
    output = torch.randn(rows, 8, generator=random)
    labels = torch.randint(0, 30, (rows,), generator=random)
    return output, labels, torch.randn(30, 8, generator=random)


def test_with_every_token_a_candidate_it_is_the_full_softmax() -> None:
    output, labels, lm_head = small()
    labels[2] = NO_LABEL
    everything = Candidates(ids=torch.arange(30), correction=torch.zeros(30))
    own = top_tokens(output, lm_head, 4)
    inputs = [output.clone().requires_grad_() for _ in range(2)]

    losses = restricted_cross_entropy(inputs[0], labels, own, everything, lm_head)

    expected = cross_entropy(inputs[1], labels, lm_head)
    weights = torch.arange(7.0)
    torch.autograd.backward(losses @ weights)
    torch.autograd.backward(expected @ weights)
    torch.testing.assert_close(losses, expected)
    torch.testing.assert_close(inputs[0].grad, inputs[1].grad)


def test_an_own_token_that_was_drawn_counts_once_and_uncorrected() -> None:
    output, labels, lm_head = small()
    labels[:] = 0
    own = torch.full((7, 1), 5)
    drawn = Candidates(ids=torch.tensor([0, 5]), correction=torch.tensor([0.0, 3.0]))

    losses = restricted_cross_entropy(output, labels, own, drawn, lm_head)

    logits = output @ lm_head[[0, 5]].T
    torch.testing.assert_close(losses, functional.cross_entropy(logits, labels, reduction="none"))


def test_the_sum_over_drawn_tokens_is_right_on_average() -> None:
    chances = np.array([0.5, 0.3, 0.15, 0.04, 0.01])
    random = np.random.default_rng(0)
    sums = np.zeros(5)
    for _ in range(20_000):
        drawn = draw_candidates(np.array([0]), chances, 3, random)
        sums[drawn.ids.numpy()] += drawn.correction.exp().numpy()

    np.testing.assert_allclose(sums / 20_000, 1.0, rtol=0.1)


def test_labels_are_always_candidates_without_correction() -> None:
    drawn = draw_candidates(np.array([7, 3, 7]), np.full(50, 1 / 50), 20, np.random.default_rng(0))

    always = torch.isin(drawn.ids, torch.tensor([3, 7]))
    assert always.sum() == 2 and not drawn.correction[always].any()
    assert (drawn.correction[~always] > 0).all()
    assert torch.equal(drawn.ids, drawn.ids.unique())


def test_tokens_that_were_seen_are_drawn_more_often_and_no_token_never() -> None:
    frequencies = Frequencies(4)
    frequencies.see(np.array([2, 2, 2, 0]))

    assert frequencies.chances().tolist() == [0.25, 0.125, 0.5, 0.125]


@pytest.mark.parametrize(
    ("vocabulary", "expected"),
    [
        pytest.param(2048, None, id="small"),
        pytest.param(248_320, Sampling(), id="large"),
    ],
)
def test_only_a_large_vocabulary_is_restricted(vocabulary: int, expected: Sampling | None) -> None:
    assert sampling_for(vocabulary) == expected
