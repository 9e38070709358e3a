"""Products with the frozen LM head: exact enough for a softmax, and the best tokens of each row."""

from __future__ import annotations

import torch
from torch import Tensor

# Rows of full-vocabulary logits held at once; larger blocks are not faster, smaller ones are.
BLOCK_ROWS = 256
# Columns of which only the best is looked at first.
_GROUP = 256
# Bfloat16 tells logits of 16 apart by 0.125, so a few of the best are computed again.
_NEAR_TIES = 4


def precise_logits(rows: Tensor, table: Tensor) -> Tensor:
    """Return rows @ table.T in float32, for [n, hidden] and [v, hidden] of one type.

    The product of bfloat16 matrices is rounded to bfloat16, an error of 1 % and more in a
    probability; a second product returns what the rounding left.
    """
    rounded = rows @ table.T
    if rounded.dtype == torch.float32:
        return rounded
    rest = torch.addmm(rounded, rows, table.T, beta=-1)
    return rest.float().add_(rounded)


def precise_own_logits(rows: Tensor, own: Tensor) -> Tensor:
    """Return [n, c] float32: each row's products with vectors of its own, [n, c, hidden]."""
    rounded = torch.bmm(own, rows[:, :, None])
    if rounded.dtype == torch.float32:
        return rounded[:, :, 0]
    rest = torch.baddbmm(rounded, own, rows[:, :, None], beta=-1)
    return rest.float().add_(rounded)[:, :, 0]


def top_tokens(output: Tensor, lm_head: Tensor, count: int) -> Tensor:
    """Return [n, count]: the most likely tokens of each row; no [n, vocabulary] tensor is made."""
    return torch.cat([_top(rows @ lm_head.T, count) for rows in output.split(BLOCK_ROWS)])


def best_tokens(output: Tensor, lm_head: Tensor) -> Tensor:
    """Return [n]: the most likely token of each row, as float32 logits of these inputs say."""
    if output.dtype == torch.float32:
        return torch.cat([(rows @ lm_head.T).argmax(-1) for rows in output.split(BLOCK_ROWS)])
    close = top_tokens(output, lm_head, min(_NEAR_TIES, len(lm_head)))
    best = precise_own_logits(output, lm_head[close]).argmax(-1, keepdim=True)
    return close.gather(1, best)[:, 0]


def _top(logits: Tensor, count: int) -> Tensor:
    """Look only into the groups of columns with the best maxima; they have the best columns."""
    rows, columns = logits.shape
    groups = columns // _GROUP
    if groups <= count:
        return logits.topk(count).indices
    grouped = logits[:, : groups * _GROUP].unflatten(1, (groups, _GROUP))
    chosen = grouped.amax(-1).topk(count).indices
    inside = grouped.gather(1, chosen[:, :, None].expand(-1, -1, _GROUP)).flatten(1)
    ids = (chosen[:, :, None] * _GROUP + torch.arange(_GROUP)).flatten(1)
    rest = torch.arange(groups * _GROUP, columns).expand(rows, -1)
    best = torch.cat([inside, logits[:, groups * _GROUP :]], dim=1).topk(count).indices
    return torch.cat([ids, rest], dim=1).gather(1, best)
