"""Attention as in the engine: a draft sees what the target fed, and its own chain, nothing else.

Depth 1 of row t attends to the rows 0..t, whose keys and values come from the target's hidden
states. Depth k attends to the same keys and values, and to those of depths 2..k of its own chain;
never to what the head fed itself at earlier rows. Sequences are packed one after the other without
padding, so only this module knows where they begin. Long ones are done in blocks, and the scores of
a block are computed again for its gradient, so memory does not grow with the square of the length.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

# More scores than this (rows x rows x heads) are not kept for the gradient: 16 MiB.
MAX_KEPT_SCORES = 1 << 22


@dataclass(frozen=True, slots=True)
class Span:
    """One sequence of a pack: all its rows are seen, `queries` of them from `first` on ask."""

    rows: int
    first: int
    queries: int


@dataclass(frozen=True, slots=True)
class KeyValue:
    """Keys and values, [rows or queries, key-value heads, head size] each."""

    key: Tensor
    value: Tensor


@dataclass(frozen=True, slots=True)
class Rotation:
    """Rotary embedding in NeoX style (halves, not pairs) at n positions."""

    cosine: Tensor
    sine: Tensor
    """[n, 1, head size / 2] float32 each."""

    @classmethod
    def at(cls, positions: Tensor, head_size: int, *, theta: float) -> Self:
        """Return the rotation at positions [n]."""
        half = head_size // 2
        inverse = theta ** -(torch.arange(half, dtype=torch.float32) / half)
        angle = (positions.to(torch.float32)[:, None] * inverse)[:, None]
        return cls(cosine=angle.cos(), sine=angle.sin())

    def apply(self, x: Tensor) -> Tensor:
        """Rotate x [n, heads, head size]."""
        rotated: Tensor = _Rotate.apply(x, self.cosine, self.sine)  # type: ignore[no-untyped-call]
        return rotated


class _Rotate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        ctx.save_for_backward(cosine, sine)
        return _rotated(x, cosine, sine)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None]:
        cosine, sine = ctx.saved_tensors
        return _rotated(upstream[0], cosine, -sine), None, None


def _rotated(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    left, right = x.float().chunk(2, dim=-1)
    rotated = torch.empty_like(x)
    to_left, to_right = rotated.chunk(2, dim=-1)
    to_left.copy_((left * cosine).sub_(right * sine))
    to_right.copy_((right * cosine).add_(left * sine))
    return rotated


def tree_attention(
    query: Tensor,
    context: KeyValue,
    chain: Sequence[KeyValue],
    spans: Sequence[Span],
    *,
    max_kept_scores: int = MAX_KEPT_SCORES,
) -> Tensor:
    """Return [queries, heads * head size] for query [queries, heads, head size].

    `context` has one key and value for each row of the pack, every entry of `chain` one for each
    query: those of depths 2..k, ending with the query's own. What comes after the spans is of no
    sequence and gets 0.
    """
    rows = _sizes([span.rows for span in spans], len(context.key))
    asked = _sizes([span.queries for span in spans], len(query))
    queries = torch.split_with_sizes(query, asked)
    keys = torch.split_with_sizes(context.key, rows)
    values = torch.split_with_sizes(context.value, rows)
    links = [
        (torch.split_with_sizes(link.key, asked), torch.split_with_sizes(link.value, asked))
        for link in chain
    ]
    attended = [
        _attend_in_blocks(
            queries[i],
            KeyValue(keys[i], values[i]),
            [KeyValue(link_keys[i], link_values[i]) for link_keys, link_values in links],
            span.first,
            max_kept_scores=max_kept_scores,
        )
        for i, span in enumerate(spans)
    ]
    return torch.cat([*attended, torch.zeros_like(queries[-1]).flatten(1)])


def _sizes(of_spans: list[int], total: int) -> list[int]:
    """Return the sizes of the spans, and of what comes after them."""
    return [*of_spans, total - sum(of_spans)]


def _attend_in_blocks(
    query: Tensor,
    context: KeyValue,
    chain: Sequence[KeyValue],
    first: int,
    *,
    max_kept_scores: int,
) -> Tensor:
    """Attend within one sequence, a bounded number of scores at a time."""
    scores_per_query = query.shape[1] * len(context.key)
    block = max(1, max_kept_scores // scores_per_query)
    if len(query) <= block:
        return _attend(query, context, chain, first)
    blocks = [slice(start, start + block) for start in range(0, len(query), block)]
    return torch.cat(
        [
            checkpoint(
                _attend,
                query[part],
                context,
                [KeyValue(link.key[part], link.value[part]) for link in chain],
                first + part.start,
                use_reentrant=False,
            )
            for part in blocks
        ]
    )


def _attend(query: Tensor, context: KeyValue, chain: Sequence[KeyValue], first: int) -> Tensor:
    """Attend with queries in consecutive rows; heads of one key-value head share a product."""
    num_queries, num_heads, size = query.shape
    last, groups = first + num_queries, context.key.shape[1]
    grouped = (query / math.sqrt(size)).view(num_queries, groups, num_heads // groups, size)
    folded = grouped.permute(1, 2, 0, 3).reshape(groups, -1, size)
    scores = torch.matmul(folded, context.key[:last].permute(1, 2, 0))
    scores = scores.view(groups, -1, num_queries, last)
    scores = scores.masked_fill_(_later_rows(first, last), -math.inf)
    own = [(grouped * link.key[:, :, None]).sum(-1).permute(1, 2, 0) for link in chain]
    scores = torch.cat([scores, *(s[..., None] for s in own)], dim=-1)
    weights = scores.softmax(-1, dtype=torch.float32).to(query.dtype)
    seen = weights[..., :last].reshape(groups, -1, last)
    mixed = torch.matmul(seen, context.value[:last].transpose(0, 1))
    mixed = mixed.view(groups, -1, num_queries, size).permute(2, 0, 1, 3)
    for depth, link in enumerate(chain):
        weight = weights[..., last + depth].permute(2, 0, 1)[..., None]
        mixed = mixed + weight * link.value[:, :, None]
    return mixed.reshape(num_queries, -1)


def _later_rows(first: int, last: int) -> Tensor:
    """Say for queries at rows first..last-1 which of the rows 0..last-1 come after them."""
    return torch.arange(last) > torch.arange(first, last)[:, None]
