from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from specfleet_trainer.attention import KeyValue, Rotation, Span
from specfleet_trainer.batch import pack, training_rows
from specfleet_trainer.heads.chaining import chained
from specfleet_trainer.tests.builders import HIDDEN, sequence

SIZE = HIDDEN // 2


class Counting:
    """A layer that does nothing but note over how many rows it was asked to."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype
        self.rows: set[int] = set()

    def rotation(self, positions: Tensor) -> Rotation:
        return Rotation.at(positions, SIZE, theta=1e4)

    def fused(self, tokens: Tensor, hidden: Tensor, positions: Tensor) -> Tensor:
        assert len(tokens) == len(hidden) == len(positions)
        return self._noted(torch.zeros(len(tokens), HIDDEN, dtype=self.dtype))

    def input_norm(self, x: Tensor) -> Tensor:
        return self._noted(x)

    def key_value(self, normed: Tensor, rotation: Rotation) -> KeyValue:
        assert len(rotation.cosine) == len(normed)
        heads = self._noted(normed).view(len(normed), 2, SIZE)
        return KeyValue(heads, heads)

    def attended(
        self,
        normed: Tensor,
        rotation: Rotation,
        context: KeyValue,
        chain: Sequence[KeyValue],
        spans: Sequence[Span],
    ) -> Tensor:
        return self._noted(normed)

    def mlp(self, x: Tensor) -> Tensor:
        return self._noted(x)

    def output_norm(self, x: Tensor) -> Tensor:
        return self._noted(x)

    def _noted(self, x: Tensor) -> Tensor:
        self.rows.add(len(x))
        return x


@pytest.mark.parametrize(
    ("dtype", "rows"), [(torch.bfloat16, {64, 128}), (torch.float32, {62, 68})]
)
def test_products_of_bfloat16_see_multiples_of_rows_and_outputs_those_of_the_queries(
    dtype: torch.dtype, rows: set[int]
) -> None:
    items = [sequence(rows=count, seed=count) for count in (40, 28)]
    batch = pack([(item, training_rows(item, 3)) for item in items], 3)
    layer = Counting(dtype)

    outputs = chained(layer, batch, through_chain=False)

    assert layer.rows == rows
    assert [output.shape for output in outputs] == [(len(batch.queries), HIDDEN)] * 3
