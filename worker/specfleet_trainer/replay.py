"""Parity: does the head here draft what the engine drafted?

Each chain is fed the engine's own drafts, so one difference does not hide the next. Where the two
differ, the gap between the logits says whether it is a near-tie or another function.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from specfleet_trainer.batch import NO_LABEL, pack_drafts
from specfleet_trainer.checkpoint import Tables
from specfleet_trainer.heads import Head
from specfleet_trainer.sequences import Sequence


@dataclass(frozen=True, slots=True)
class Difference:
    """One draft that is not the head's best token."""

    row: int
    engine_token: int
    head_token: int
    gap_sigmas: float
    """Best logit minus the logit of the engine's token, in standard deviations of the row."""


@dataclass(frozen=True, slots=True)
class DepthParity:
    """All drafts of one depth in one sequence."""

    equal: int
    total: int
    differences: tuple[Difference, ...]


@torch.no_grad()
def compare_drafts(
    head: Head, tables: Tables, sequence: Sequence, depths: int
) -> list[DepthParity]:
    """Compare the engine's drafts with the head's, depth by depth."""
    if not sequence.drafts:
        return [DepthParity(equal=0, total=0, differences=())] * depths
    batch = pack_drafts(sequence, depths)
    outputs = head.depth_outputs(batch, tables.embedding)
    parities = []
    for drafted, output in zip(batch.labels.T, outputs, strict=True):
        rows = (drafted != NO_LABEL).nonzero()[:, 0]
        logits, engine = output[rows] @ tables.lm_head.T, drafted[rows]
        best, mine = logits.max(dim=-1)
        gaps = (best - logits.gather(1, engine[:, None])[:, 0]) / logits.std(dim=-1)
        differences = tuple(
            Difference(int(rows[i]), int(engine[i]), int(mine[i]), float(gaps[i]))
            for i in (engine != mine).nonzero()[:, 0].tolist()
        )
        parities.append(
            DepthParity(len(rows) - len(differences), len(rows), differences=differences)
        )
    return parities
