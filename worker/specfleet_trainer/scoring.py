"""The loss of the weights on what was held out, one sequence at a time: memory stays bounded."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from specfleet_trainer.batch import NO_LABEL, output_rows, pack
from specfleet_trainer.sequences import Sequence
from specfleet_trainer.step import TrainingStep


def mean_losses(step: TrainingStep, sequences: Iterable[Sequence]) -> tuple[float, ...]:
    """Return the loss of each depth over all rows of the sequences that have a label."""
    total, rows = torch.zeros(2, step.depths, dtype=torch.float64)
    for sequence in sequences:
        batch = pack([(sequence, output_rows(sequence))], step.depths)
        labelled = (batch.labels != NO_LABEL).sum(dim=0)
        total += labelled * torch.tensor(step.losses(batch))
        rows += labelled
    return tuple((total / rows.clamp(min=1)).tolist())
