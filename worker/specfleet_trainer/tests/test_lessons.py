from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from specfleet_trainer.batch import pack, training_rows
from specfleet_trainer.buffer import Buffer
from specfleet_trainer.lessons import OWN_USES, next_batch
from specfleet_trainer.restricted import Sampling
from specfleet_trainer.step import TrainingStep
from specfleet_trainer.tests.builders import sequence, tiny

DEPTHS = 3
SAMPLING = Sampling(own=4, draws=8)


def training(directory: Path, sampling: Sampling | None = SAMPLING) -> TrainingStep:
    head, tables = tiny(directory)
    return TrainingStep(
        head, tables, learning_rate=1e-2, depth_weights=(1.0,) * DEPTHS, sampling=sampling
    )


def filled(count: int = 1) -> Buffer:
    buffer = Buffer(max_rows=1000, max_uses=100)
    for seed in range(count):
        buffer.add(sequence(rows=10, seed=seed))
    return buffer


def test_rows_come_with_the_tokens_that_the_head_finds_most_likely(tmp_path: Path) -> None:
    step = training(tmp_path)

    batch = next_batch(filled(2), step, 20, np.random.default_rng(0))

    items = [sequence(rows=10, seed=seed) for seed in range(2)]
    plain = pack([(item, training_rows(item, DEPTHS)) for item in items], DEPTHS)
    assert batch.own is not None
    assert torch.equal(batch.labels, plain.labels)
    assert torch.equal(batch.own, step.own_tokens(plain, SAMPLING))


def test_own_tokens_are_kept_for_a_few_uses_while_the_head_moves_on(tmp_path: Path) -> None:
    step, buffer, random = training(tmp_path), filled(), np.random.default_rng(0)
    seen = []
    for _ in range(OWN_USES + 1):
        batch = next_batch(buffer, step, 20, random)
        assert batch.own is not None
        seen.append(batch.own)
        step.run(batch)

    assert all(torch.equal(own, seen[0]) for own in seen[:OWN_USES])
    assert not torch.equal(seen[OWN_USES], seen[0])


def test_a_full_softmax_needs_no_own_tokens(tmp_path: Path) -> None:
    step = training(tmp_path, sampling=None)

    assert next_batch(filled(), step, 20, np.random.default_rng(0)).own is None
