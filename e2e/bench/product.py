"""The product's training step as its trainer makes it, on random requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from e2e.bench.shapes import Shape
from e2e.bench.work import Looked, StepSize
from specfleet_trainer.batch import Batch
from specfleet_trainer.buffer import Buffer
from specfleet_trainer.checkpoint import Tables
from specfleet_trainer.heads import new_head
from specfleet_trainer.lessons import learn
from specfleet_trainer.restricted import Frequencies, Sampling, sampling_for
from specfleet_trainer.sequences import Sequence as Request
from specfleet_trainer.step import StepResult, TrainingStep


@dataclass(frozen=True, slots=True)
class Orders:
    """How to train."""

    rows_per_step: int
    learning_rate: float
    depth_weights: tuple[float, ...]


class Product:
    """A head, the requests it is trained on, and its step."""

    def __init__(
        self,
        shape: Shape,
        tables: Tables,
        requests: Sequence[Request],
        orders: Orders,
        random: np.random.Generator,
    ) -> None:
        self.head = new_head("mtp", "mimo", shape.config())
        self.training = _CountingStep(
            self.head,
            tables,
            learning_rate=orders.learning_rate,
            depth_weights=orders.depth_weights,
            sampling=sampling_for(shape.vocabulary),
        )
        self._orders = orders
        self._random = random
        self._buffer = Buffer(max_rows=1 << 30, max_uses=1 << 30)
        for request in requests:
            self._buffer.add(request)

    def step(self) -> Batch:
        """Take requests, pack them, and make a step of the batch, which is returned."""
        learn(self._buffer, self.training, self._orders.rows_per_step, self._random)
        return self.training.batch


class _CountingStep(TrainingStep):
    """Counts the positions whose own tokens were searched, and keeps the batch."""

    batch: Batch
    searched_positions = 0

    def run(self, batch: Batch) -> StepResult:
        self.batch = batch
        self.searched_positions += len(batch.unknown)
        return super().run(batch)


def size_of(batch: Batch, item_bytes: int) -> StepSize:
    """Return what a step of the batch runs over."""
    return StepSize(len(batch.fed), len(batch.queries), batch.depths, item_bytes)


def looked_at(
    batch: Batch, vocabulary: int, sampling: Sampling | None, *, searches: float
) -> Looked:
    """Return at how many tokens a step of the batch looks on average."""
    if sampling is None:
        return Looked(shared=vocabulary, own=0, searches=0.0)
    labels = batch.labels.numpy().ravel()
    frequencies = Frequencies(vocabulary)
    frequencies.see(labels)
    chances = -np.expm1(sampling.draws * np.log1p(-frequencies.chances()))
    chances[labels] = 1.0
    return Looked(shared=round(chances.sum()), own=sampling.own, searches=searches)
