"""The plain step is the product's in float32, over the full vocabulary, through all depths."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from e2e.bench.plain import PlainStep, dense
from e2e.bench.shapes import Shape, Traffic, random_sequences, random_table
from specfleet_trainer.batch import pack, training_rows
from specfleet_trainer.checkpoint import Tables
from specfleet_trainer.heads import new_head
from specfleet_trainer.step import TrainingStep

SHAPE = Shape("small", 60, 24, 40, 4, 2, 8)
DEPTH_WEIGHTS = (1.0, 0.8, 0.6)


def test_the_plain_step_trains_as_the_products_does() -> None:
    torch.manual_seed(0)
    table = random_table(SHAPE, torch.Generator().manual_seed(1))
    requests = random_sequences(
        SHAPE, Traffic(rows=20, prompt_tokens=6), count=3, random=np.random.default_rng(2)
    )
    head = new_head("mtp", "mimo", SHAPE.config())
    plain = PlainStep(
        head.to_checkpoint(), SHAPE, table, learning_rate=1e-3, depth_weights=DEPTH_WEIGHTS
    )
    step = TrainingStep(
        head,
        Tables(table, table),
        learning_rate=1e-3,
        depth_weights=DEPTH_WEIGHTS,
        through_chain=True,
    )
    batch = pack([(request, training_rows(request, 3)) for request in requests], 3)

    for _ in range(3):
        expected = step.run(batch).losses
        assert plain.run(dense(requests)) == pytest.approx(expected, rel=1e-5)
