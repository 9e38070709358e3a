"""Step walk: what a finished request would have cost in verify steps with another head.

Draft K, accept what the target really emitted, jump, again. Feeding the true tokens gives the same
walk as feeding the drafts: a later draft only counts when all before it were true.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from specfleet_trainer.batch import output_rows, pack
from specfleet_trainer.checkpoint import Tables
from specfleet_trainer.heads import Head
from specfleet_trainer.loss import BLOCK_ROWS
from specfleet_trainer.sequences import Sequence


@dataclass(frozen=True, slots=True)
class Walk:
    """The walk over one sequence, or over many, added up."""

    verify_steps: int
    tokens: int
    """Emitted by these verify steps, up to the end of the request."""
    accepted: tuple[int, ...]
    """How often the draft of each depth was accepted."""


def step_walk(head: Head, tables: Tables, sequence: Sequence, depths: int) -> Walk:
    """Walk `head` over a complete sequence, from the first token of the target on."""
    rows = output_rows(sequence)
    if not rows:
        return Walk(verify_steps=0, tokens=0, accepted=(0,) * depths)
    with torch.no_grad():
        batch = pack([(sequence, rows)], depths)
        outputs = head.depth_outputs(batch, tables.embedding)
        drafts = torch.stack([best_tokens(output, tables.lm_head) for output in outputs], dim=1)
        prefixes = (drafts == batch.labels).long().cumprod(dim=1).sum(dim=1)
    return walk(prefixes.tolist(), depths)


def best_tokens(output: Tensor, lm_head: Tensor) -> Tensor:
    """Return [N]: the most likely token of each row; no [N, vocabulary] tensor is made."""
    return torch.cat([(rows @ lm_head.T).argmax(-1) for rows in output.split(BLOCK_ROWS)])


def walk(acceptable: list[int], depths: int) -> Walk:
    """Walk over rows that draft, given how many drafts of each would be accepted."""
    accepted = [0] * depths
    row = steps = 0
    while row < len(acceptable):
        for depth in range(acceptable[row]):
            accepted[depth] += 1
        steps += 1
        row += acceptable[row] + 1
    return Walk(verify_steps=steps, tokens=len(acceptable), accepted=tuple(accepted))


def total(walks: list[Walk], depths: int) -> Walk:
    """Add walks up."""
    return Walk(
        verify_steps=sum(one.verify_steps for one in walks),
        tokens=sum(one.tokens for one in walks),
        accepted=tuple(sum(one.accepted[depth] for one in walks) for depth in range(depths)),
    )
