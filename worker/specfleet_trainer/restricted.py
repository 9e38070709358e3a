"""Cross-entropy over a part of the vocabulary, in place of a large one under a frozen LM head.

The sum of the softmax over a row's candidates: the labels of the batch, the row's own most likely
tokens (as the head saw them some steps ago), and tokens drawn at random, which stand for all the
others. A drawn token's logit gets minus the logarithm of its chance to be drawn (logQ correction),
so the sum is right on average; what is always there gets no correction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from specfleet_trainer.batch import NO_LABEL, ROWS_AT_ONCE
from specfleet_trainer.logits import precise_logits, precise_own_logits

# Larger blocks make the shared products faster, and take more memory.
BLOCK_ROWS = 1024
# Rows whose own vectors and logits are done at once, so that they stay in the cache.
OWN_ROWS = 64
_COLUMNS_AT_ONCE = 256
# Share of the draws that do not follow the observed frequencies.
UNIFORM_SHARE = 0.5

Int64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Sampling:
    """How many candidates a row has besides the labels of its batch."""

    own: int = 32
    """The row's own most likely tokens."""
    draws: int = 8192
    """Draws for all rows of a batch, with replacement."""


def sampling_for(vocabulary: int) -> Sampling | None:
    """Say how to restrict a vocabulary of this size; None where the full softmax costs less.

    With the search for the own tokens, a row's restricted loss costs less than a full softmax over
    twice its draws.
    """
    sampling = Sampling()
    return sampling if vocabulary > 2 * sampling.draws else None


class Frequencies:
    """Draws tokens about as often as they were seen."""

    def __init__(self, vocabulary: int) -> None:
        self._counts = np.zeros(vocabulary, np.int64)

    def see(self, tokens: NDArray[Any]) -> None:
        """Count tokens."""
        np.add.at(self._counts, tokens, 1)

    def chances(self) -> NDArray[np.float64]:
        """Return [vocabulary]: the chance of each token in one draw; some have been seen."""
        seen = self._counts / self._counts.sum()
        chances: NDArray[np.float64] = UNIFORM_SHARE / len(seen) + (1 - UNIFORM_SHARE) * seen
        return chances


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """The tokens that all rows of a batch share."""

    ids: Tensor
    """[c] in ascending order, each once."""
    correction: Tensor
    """[c] float32, added to the logits."""


def draw_candidates(
    labels: Int64, chances: NDArray[np.float64], draws: int, random: np.random.Generator
) -> Candidates:
    """Return the labels and what `draws` draws with replacement add to them."""
    always = np.unique(labels)
    drawn = np.setdiff1d(random.choice(len(chances), size=draws, p=chances), always)
    # log(1 - (1 - chance)^draws) without loss of small chances
    included = np.log(-np.expm1(draws * np.log1p(-chances[drawn])))
    ids = np.concatenate([always, drawn])
    correction = np.concatenate([np.zeros(len(always)), -included])
    order = ids.argsort()
    return Candidates(
        ids=torch.from_numpy(ids[order]),
        correction=torch.from_numpy(correction[order].astype(np.float32)),
    )


def restricted_cross_entropy(
    output: Tensor, labels: Tensor, own: Tensor, candidates: Candidates, lm_head: Tensor
) -> Tensor:
    """Return [n] float32: each row's loss over its candidates, 0 without a label.

    `own` [n, k] are the row's own tokens; labels are among the shared candidates.
    """
    losses: Tensor = _RestrictedCrossEntropy.apply(  # type: ignore[no-untyped-call]
        output, labels, own, candidates, lm_head
    )
    return losses


class _RestrictedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        output: Tensor,
        labels: Tensor,
        own: Tensor,
        candidates: Candidates,
        lm_head: Tensor,
    ) -> Tensor:
        ids = candidates.ids
        # A kernel is made for every size of a product that was not seen before; so sizes are few.
        unused = -len(ids) % _COLUMNS_AT_ONCE
        table = functional.embedding(functional.pad(ids, (0, unused)), lm_head)
        correction = functional.pad(candidates.correction, (0, unused), value=-torch.inf)
        targets = torch.searchsorted(ids, labels.clamp(min=0))[:, None]
        places = torch.searchsorted(ids, own.contiguous()).clamp_(max=len(ids) - 1)
        is_shared = ids[places] == own
        gradient = torch.zeros_like(output)
        losses = output.new_zeros(len(output), dtype=torch.float32)
        totals = torch.ones_like(losses)
        for block in (labels != NO_LABEL).nonzero()[:, 0].split(BLOCK_ROWS):
            z = functional.pad(output[block], (0, 0, 0, -len(block) % ROWS_AT_ONCE))
            logits = precise_logits(z, table).add_(correction)
            for_z = torch.zeros_like(z)
            tensors = (block, *(tensor[: len(block)] for tensor in (z, logits, for_z)))
            parts = (tensor.split(OWN_ROWS) for tensor in tensors)
            for rows, z_part, shared_logits, for_z_part in zip(*parts, strict=True):
                place, shared, target = places[rows], is_shared[rows], targets[rows]
                own_table = functional.embedding(own[rows], lm_head)
                own_logits = precise_own_logits(z_part, own_table).masked_fill_(shared, -torch.inf)
                # What is among a row's own is always there: it counts once, without correction.
                shared_logits.scatter_add_(1, place, -correction[place] * shared)
                largest = torch.maximum(shared_logits.amax(-1), own_logits.amax(-1))[:, None]
                shared_logits.sub_(largest)
                labelled = shared_logits.gather(1, target)[:, 0]
                total = shared_logits.exp_().sum(-1) + own_logits.sub_(largest).exp_().sum(-1)
                losses[rows], totals[rows] = total.log() - labelled, total
                # From here on everything is `total` times as large as it should be.
                shared_logits.scatter_add_(1, target, -total[:, None])
                torch.bmm(own_logits.to(z.dtype)[:, None], own_table, out=for_z_part[:, None])
            gradient[block] = torch.addmm(for_z, logits.to(z.dtype), table)[: len(block)]
        ctx.save_for_backward(gradient, totals)
        return losses

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None, None, None]:
        gradient, totals = ctx.saved_tensors
        scaled = gradient.float().mul_((upstream[0] / totals)[:, None])
        return scaled.to(gradient.dtype), None, None, None, None
