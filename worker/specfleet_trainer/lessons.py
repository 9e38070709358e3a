"""A step on what the buffer gives, with what a restricted loss needs of it.

The own tokens of a sequence cost a pass over the full vocabulary, more than the step itself, and
change slowly; so they are kept with the sequence for a few uses.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from specfleet_trainer.batch import UNKNOWN, Batch, pack, training_rows
from specfleet_trainer.buffer import Buffer, Kept
from specfleet_trainer.restricted import Sampling
from specfleet_trainer.step import StepResult, TrainingStep

# How often own tokens are used before they are looked for again.
OWN_USES = 8


def learn(buffer: Buffer, step: TrainingStep, rows: int, random: np.random.Generator) -> StepResult:
    """Take a step on up to `rows` rows; the buffer must have something."""
    taken = buffer.take(rows, random)
    batch = pack(
        [(one.sequence, training_rows(one.sequence, step.depths)) for one in taken], step.depths
    )
    if step.sampling is None:
        return step.run(batch)
    batch = replace(batch, own=_own_tokens(taken, batch, step.sampling))
    result = step.run(batch)
    _keep(taken, batch)
    return result


def _own_tokens(taken: list[Kept], batch: Batch, sampling: Sampling) -> Tensor:
    """Return [N, K, own]: what is kept, UNKNOWN for sequences whose tokens are due."""
    own = torch.full((len(batch.queries), batch.depths, sampling.own), UNKNOWN)
    for kept, rows in zip(taken, _rows(own, batch), strict=True):
        if kept.own is not None and not _is_due(kept):
            rows.copy_(torch.from_numpy(kept.own))
    return own


def _keep(taken: list[Kept], batch: Batch) -> None:
    """Keep what the step has looked for."""
    assert batch.own is not None, "the step had a place for own tokens"
    for kept, rows in zip(taken, _rows(batch.own, batch), strict=True):
        if _is_due(kept):
            kept.own, kept.own_uses = rows.to(torch.int32).numpy(), 0
        kept.own_uses += 1


def _is_due(kept: Kept) -> bool:
    """Say whether the own tokens have to be looked for before the next use."""
    return kept.own is None or kept.own_uses >= OWN_USES


def _rows(own: Tensor, batch: Batch) -> tuple[Tensor, ...]:
    """Return the part of each sequence."""
    return torch.split_with_sizes(own, [span.queries for span in batch.spans])
