"""Packing sequences into the tensors a head runs on: rows side by side, no padding.

All rows of a sequence give keys and values; only the queries among them are unrolled into depths.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from specfleet_trainer.attention import Span
from specfleet_trainer.sequences import Int32, Sequence

NO_LABEL = -1
UNKNOWN = -1
"""In place of own tokens that have not been looked for."""
# For bfloat16 a kernel is made for every number of rows that was not seen before, which takes
# longer than the product; batches of requests as they come have ever new ones.
ROWS_AT_ONCE = 64


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """R rows of a few sequences, N queries among them, K depths."""

    spans: tuple[Span, ...]
    fed: Tensor
    """[R] tokens fed at depth 1."""
    hidden: Tensor
    """[R, hidden] float32."""
    positions: Tensor
    """[R]"""
    queries: Tensor
    """[N] the queries' rows in the pack."""
    chain: Tensor
    """[N, K] the token fed to each depth; the first column is `fed`."""
    labels: Tensor
    """[N, K] the token each depth should predict, NO_LABEL where there is none."""
    own: Tensor | None = None
    """[N, K, own] the tokens that the head found most likely, all UNKNOWN in rows where they have
    to be looked for; only for a restricted loss."""

    @property
    def depths(self) -> int:
        """Return K."""
        return self.chain.shape[1]

    @property
    def unknown(self) -> Tensor:
        """Return the queries whose own tokens have to be looked for; none without own tokens."""
        if self.own is None:
            return self.queries.new_empty(0)
        return (self.own[:, 0, 0] == UNKNOWN).nonzero()[:, 0]


def training_rows(sequence: Sequence, depths: int) -> range:
    """Return the rows that draft the target's own tokens and have labels for every depth."""
    first = sequence.first_output_row
    return range(first, max(first, sequence.rows - depths))


def output_rows(sequence: Sequence) -> range:
    """Return the rows that draft at least one of the target's own tokens."""
    first = sequence.first_output_row
    return range(first, max(first, sequence.rows - 1))


def pack(selected: Iterable[tuple[Sequence, range]], depths: int) -> Batch:
    """Pack sequences, each with the contiguous rows to unroll, fed with the true tokens."""
    parts = [
        _Part(
            sequence=sequence,
            queries=queries,
            chain=_true_chain(sequence, queries, depths),
            labels=_labels(sequence, queries, depths),
        )
        for sequence, queries in selected
    ]
    return _join(parts)


def pack_drafts(sequence: Sequence, depths: int) -> Batch:
    """Pack one sequence, its rows up to the last that drafted, each fed with its own drafts.

    A row's labels are what the engine drafted after it, at most `depths` tokens; NO_LABEL where it
    drafted nothing.
    """
    queries = range(max(sequence.drafts, default=-1) + 1)
    drafted = np.full((len(queries), depths), NO_LABEL, np.int32)
    for row, drafts in sequence.drafts.items():
        drafted[row, : len(drafts.tokens)] = drafts.tokens
    fed = sequence.fed[: len(queries), None]
    chain = np.concatenate([fed, np.maximum(drafted[:, :-1], 0)], axis=1)
    return _join([_Part(sequence=sequence, queries=queries, chain=chain, labels=drafted)])


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    sequence: Sequence
    queries: range
    chain: Int32
    labels: Int32


def _join(parts: list[_Part]) -> Batch:
    sequences = [part.sequence for part in parts]
    starts = np.cumsum([0, *(sequence.rows for sequence in sequences)])
    return Batch(
        spans=tuple(
            Span(rows=part.sequence.rows, first=part.queries.start, queries=len(part.queries))
            for part in parts
        ),
        fed=_integers([sequence.fed for sequence in sequences]),
        hidden=_floats([sequence.hidden for sequence in sequences]),
        positions=_integers(
            [np.arange(s.first_position, s.first_position + s.rows) for s in sequences]
        ),
        queries=_integers(
            [start + np.asarray(part.queries) for start, part in zip(starts, parts, strict=False)]
        ),
        chain=_integers([part.chain for part in parts]),
        labels=_integers([part.labels for part in parts]),
    )


def _true_chain(sequence: Sequence, queries: range, depths: int) -> Int32:
    chain = _following(sequence, queries, depths, first=1, absent=0)
    chain[:, 0] = sequence.fed[queries.start : queries.stop]
    return chain


def _labels(sequence: Sequence, queries: range, depths: int) -> Int32:
    """A row that was fed an untrue token drafts what no one will ask for: it has no labels."""
    labels = _following(sequence, queries, depths, first=2, absent=NO_LABEL)
    rows = slice(queries.start, queries.stop)
    labels[sequence.fed[rows] != sequence.tokens[1:][rows]] = NO_LABEL
    return labels


def _following(
    sequence: Sequence, queries: range, depths: int, *, first: int, absent: int
) -> Int32:
    """Return [queries, depths]: the true tokens `first`, `first` + 1, … after each row."""
    padded = np.append(sequence.tokens, np.full(depths + 1, absent, np.int32))
    columns = np.arange(first, first + depths)
    following: Int32 = padded[np.asarray(queries)[:, None] + columns]
    return following


def _integers(arrays: list[Int32]) -> Tensor:
    return torch.from_numpy(np.concatenate(arrays).astype(np.int64))


def _floats(blocks: list[np.ndarray]) -> Tensor:
    joined = np.concatenate(blocks)
    if joined.dtype == np.uint16:
        return torch.from_numpy(joined).view(torch.bfloat16).float()
    return torch.from_numpy(joined)
