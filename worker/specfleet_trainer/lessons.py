"""From what the buffer gives to the batch of one step, with what a restricted loss needs of it.

The own tokens of a sequence cost a pass over the full vocabulary, more than the step itself, and
change slowly; so they are kept with the sequence for a few uses.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from specfleet_trainer.batch import Batch, pack, training_rows
from specfleet_trainer.buffer import Buffer, Kept
from specfleet_trainer.restricted import Sampling
from specfleet_trainer.step import TrainingStep

# How often own tokens are used before they are looked for again.
OWN_USES = 8


def next_batch(buffer: Buffer, step: TrainingStep, rows: int, random: np.random.Generator) -> Batch:
    """Return a batch of up to `rows` rows; the buffer must have something."""
    taken = buffer.take(rows, random)
    if step.sampling is None:
        return _pack(taken, step.depths)
    _look_for_own_tokens([kept for kept in taken if is_due(kept)], step, step.sampling)
    for kept in taken:
        kept.own_uses += 1
    own = np.concatenate([kept.own for kept in taken if kept.own is not None])
    return replace(_pack(taken, step.depths), own=torch.from_numpy(own.astype(np.int64)))


def is_due(kept: Kept) -> bool:
    """Say whether the own tokens have to be looked for before the next use."""
    return kept.own is None or kept.own_uses >= OWN_USES


def _look_for_own_tokens(due: list[Kept], step: TrainingStep, sampling: Sampling) -> None:
    if not due:
        return
    batch = _pack(due, step.depths)
    found = step.own_tokens(batch, sampling).to(torch.int32)
    for kept, own in zip(due, found.split([span.queries for span in batch.spans]), strict=True):
        kept.own, kept.own_uses = own.numpy().copy(), 0


def _pack(kept: list[Kept], depths: int) -> Batch:
    return pack([(one.sequence, training_rows(one.sequence, depths)) for one in kept], depths)
