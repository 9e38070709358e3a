"""Step walk: what a finished request would have cost in verify steps with another head.

Draft K, accept what the target really emitted, jump, again. Feeding the true tokens gives the same
walk as feeding the drafts: a later draft only counts when all before it were true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch

from specfleet_trainer.batch import output_rows, pack
from specfleet_trainer.checkpoint import Tables
from specfleet_trainer.heads import Head
from specfleet_trainer.logits import BLOCK_ROWS, best_tokens
from specfleet_trainer.sequences import Sequence as Rows


@dataclass(frozen=True, slots=True)
class Walk:
    """The walk over one sequence, or over many, added up."""

    verify_steps: int
    tokens: int
    """Emitted by these verify steps, up to the end of the request."""
    accepted: tuple[int, ...]
    """How often the draft of each depth was accepted."""


@dataclass(frozen=True, slots=True)
class RequestWalk:
    """The walks of several heads over one request, in the order of the heads."""

    key: int
    """Of the request's conversation."""
    serial: int
    complete: bool
    """Only of a complete request does a walk say what the head would have cost."""
    tokens: int
    """Emitted by the verify steps, the same for every head."""
    verify_steps: tuple[int, ...]
    accepted: tuple[tuple[int, ...], ...]
    """For each head, how often the draft of each depth was accepted."""


def _nothing() -> None:
    """Tell nobody."""


def walks(
    heads: Sequence[Head], tables: Tables, requests: Iterable[Rows], depths: int
) -> list[RequestWalk]:
    """Walk every head over every request, from the first token of the target on."""
    return [walk_request(heads, tables, request, depths) for request in requests]


def walk_request(
    heads: Iterable[Head],
    tables: Tables,
    request: Rows,
    depths: int,
    *,
    alive: Callable[[], None] = _nothing,
) -> RequestWalk:
    """Walk every head over one request; each head is used before the next is asked for.

    A long request and a large vocabulary take minutes on a few cores: `alive` is called often.
    """
    of_heads = _walk_together(heads, tables, request, depths, alive=alive)
    return RequestWalk(
        key=request.key,
        serial=request.serial,
        complete=request.complete,
        tokens=len(output_rows(request)),
        verify_steps=tuple(one.verify_steps for one in of_heads),
        accepted=tuple(one.accepted for one in of_heads),
    )


def step_walk(head: Head, tables: Tables, request: Rows, depths: int) -> Walk:
    """Walk one head over a complete request, from the first token of the target on."""
    return _walk_together([head], tables, request, depths, alive=_nothing)[0]


@torch.no_grad()
def _walk_together(
    heads: Iterable[Head],
    tables: Tables,
    request: Rows,
    depths: int,
    *,
    alive: Callable[[], None],
) -> list[Walk]:
    """Return the walk of each head; the request is packed once, the LM head read once."""
    rows = output_rows(request)
    if not rows:
        return [Walk(verify_steps=0, tokens=0, accepted=(0,) * depths) for _ in heads]
    batch = pack([(request, rows)], depths)
    outputs = []
    for head in heads:
        outputs += head.depth_outputs(batch, tables.embedding)
        alive()
    best = []
    for block in torch.cat(outputs).split(BLOCK_ROWS):
        best.append(best_tokens(block, tables.lm_head))
        alive()
    drafts = torch.cat(best).view(-1, depths, len(rows))
    prefixes = (drafts == batch.labels.T).long().cumprod(dim=1).sum(dim=1)
    return [walk(acceptable, depths) for acceptable in prefixes.tolist()]


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
