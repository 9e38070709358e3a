"""How the depths of a head follow one another, whatever its layer computes.

Each depth attends to the keys and values that the target's states made up to its row, and to its
own chain: those of the depths before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from specfleet_trainer.attention import KeyValue, Rotation, Span
from specfleet_trainer.batch import ROWS_AT_ONCE, Batch


class Pass(Protocol):
    """A head's layer during one pass, in which all depths share the weights; n are rows."""

    @property
    def dtype(self) -> torch.dtype:
        """Return the type that is computed in."""

    def rotation(self, positions: Tensor) -> Rotation:
        """Return the rotation of queries and keys at positions [n]."""

    def fused(self, tokens: Tensor, hidden: Tensor, positions: Tensor) -> Tensor:
        """Join tokens [n] and hidden states [n, hidden] into the layer's input [n, hidden]."""

    def input_norm(self, x: Tensor) -> Tensor:
        """Return what queries, keys and values are made of."""

    def key_value(self, normed: Tensor, rotation: Rotation) -> KeyValue:
        """Return keys and values of rows."""

    def attended(
        self,
        normed: Tensor,
        rotation: Rotation,
        context: KeyValue,
        chain: Sequence[KeyValue],
        spans: Sequence[Span],
    ) -> Tensor:
        """Return what attention adds to the rows [n, hidden]."""

    def mlp(self, x: Tensor) -> Tensor:
        """Return what comes after attention adds to the rows, [n, hidden]."""

    def output_norm(self, x: Tensor) -> Tensor:
        """Return the output of a depth."""


def chained(layer: Pass, batch: Batch, *, through_chain: bool) -> list[Tensor]:
    """Return the output of each depth for the batch's queries, [queries, hidden] each.

    The gradient of a depth stops at the output of the depth before it, which is its input, unless
    it should go `through_chain`.
    """
    num_queries = len(batch.queries)
    if layer.dtype == torch.bfloat16:
        batch = _rounded_up(batch, ROWS_AT_ONCE)
    x = layer.fused(batch.fed, batch.hidden, batch.positions)
    normed = layer.input_norm(x)
    context = layer.key_value(normed, layer.rotation(batch.positions))
    x, normed = x[batch.queries], normed[batch.queries]
    positions = batch.positions[batch.queries]
    rotation = layer.rotation(positions)
    outputs: list[Tensor] = []
    chain: list[KeyValue] = []
    for depth in range(1, batch.depths + 1):
        if depth > 1:
            positions = positions + 1
            rotation = layer.rotation(positions)
            before = outputs[-1] if through_chain else outputs[-1].detach()
            x = layer.fused(batch.chain[:, depth - 1], before, positions)
            normed = layer.input_norm(x)
            chain.append(layer.key_value(normed, rotation))
        x = x + layer.attended(normed, rotation, context, chain, batch.spans)
        x = x + layer.mlp(x)
        outputs.append(layer.output_norm(x))
    return [output[:num_queries] for output in outputs]


def _rounded_up(batch: Batch, multiple: int) -> Batch:
    """Add rows and queries that belong to no sequence, up to multiples."""
    rows, queries = -len(batch.fed) % multiple, -len(batch.queries) % multiple
    return replace(
        batch,
        fed=functional.pad(batch.fed, (0, rows)),
        hidden=functional.pad(batch.hidden, (0, 0, 0, rows)),
        positions=functional.pad(batch.positions, (0, rows)),
        queries=functional.pad(batch.queries, (0, queries)),
        chain=functional.pad(batch.chain, (0, 0, 0, queries)),
    )
