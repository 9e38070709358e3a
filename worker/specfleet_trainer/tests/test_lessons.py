from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from specfleet_trainer.batch import UNKNOWN, Batch, pack, training_rows
from specfleet_trainer.buffer import Buffer
from specfleet_trainer.lessons import OWN_USES, learn
from specfleet_trainer.logits import top_tokens
from specfleet_trainer.restricted import Sampling
from specfleet_trainer.step import StepResult, TrainingStep
from specfleet_trainer.tests.builders import sequence, tiny

DEPTHS = 3
SAMPLING = Sampling(own=4, draws=8)


class Watched(TrainingStep):
    """Keeps the batches of its steps, and what was known of own tokens before each."""

    def __init__(self, directory: Path, sampling: Sampling | None = SAMPLING) -> None:
        head, tables = tiny(directory)
        super().__init__(
            head, tables, learning_rate=1e-2, depth_weights=(1.0,) * DEPTHS, sampling=sampling
        )
        self.batches: list[Batch] = []
        self.known: list[Tensor] = []

    def run(self, batch: Batch) -> StepResult:
        if batch.own is not None:
            self.known.append(batch.own.clone())
        self.batches.append(batch)
        return super().run(batch)

    def most_likely(self, batch: Batch) -> Tensor:
        """Return [N, K, own] by the head as it is now."""
        with torch.no_grad():
            outputs = self.head.depth_outputs(batch, self.tables.embedding)
        tops = [top_tokens(output, self.tables.lm_head, SAMPLING.own) for output in outputs]
        return torch.stack(tops, dim=1)


def filled(*seeds: int) -> Buffer:
    buffer = Buffer(max_rows=1000, max_uses=100)
    for seed in seeds:
        buffer.add(sequence(rows=10, seed=seed))
    return buffer


def test_a_step_looks_for_the_tokens_that_the_head_finds_most_likely(tmp_path: Path) -> None:
    step = Watched(tmp_path)
    items = [sequence(rows=10, seed=seed) for seed in range(2)]
    plain = pack([(item, training_rows(item, DEPTHS)) for item in items], DEPTHS)
    expected = step.most_likely(plain)

    learn(filled(0, 1), step, 20, np.random.default_rng(0))

    assert torch.equal(step.batches[0].labels, plain.labels)
    assert (step.known[0] == UNKNOWN).all()
    assert step.batches[0].own is not None
    assert torch.equal(step.batches[0].own, expected)


def test_own_tokens_are_kept_for_a_few_uses_while_the_head_moves_on(tmp_path: Path) -> None:
    step, buffer, random = Watched(tmp_path), filled(0), np.random.default_rng(0)

    for _ in range(OWN_USES + 1):
        learn(buffer, step, 20, random)

    first, last = step.batches[0].own, step.batches[OWN_USES].own
    assert first is not None
    assert last is not None
    assert all(torch.equal(own, first) for own in step.known[1:OWN_USES])
    assert (step.known[OWN_USES] == UNKNOWN).all()
    assert not torch.equal(last, first)


def test_only_the_own_tokens_of_what_is_new_are_looked_for(tmp_path: Path) -> None:
    step, buffer, random = Watched(tmp_path), filled(0), np.random.default_rng(0)
    learn(buffer, step, 20, random)
    buffer.add(sequence(rows=10, seed=1))

    learn(buffer, step, 20, random)

    new, seen = step.known[1].split([span.queries for span in step.batches[1].spans])
    found = step.batches[0].own
    assert (new == UNKNOWN).all()
    assert found is not None
    assert torch.equal(seen, found)


def test_a_full_softmax_needs_no_own_tokens(tmp_path: Path) -> None:
    step = Watched(tmp_path, sampling=None)

    learn(filled(0), step, 20, np.random.default_rng(0))

    assert step.batches[0].own is None
