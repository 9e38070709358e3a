"""A federation without processes: a few workers, their deltas and the outer step, all in here.

Everything that decides what is learned is the product's own: the training step, the buffer, the
codecs with their residuals, the outer step and the patches. With the same seed, two federations
see the same batches in the same order, so that they differ by their recipe alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from e2e.experiments.misbehaving import Fault, seen, sent
from e2e.walking import head_of
from specfleet_common.codecs import deltas, patch
from specfleet_common.codecs.codec import Codec
from specfleet_common.diloco.combine import combine
from specfleet_common.diloco.lengths import length
from specfleet_common.diloco.outer import initial_state, outer_step
from specfleet_common.diloco.rule import Rule
from specfleet_common.tensors import Array, TensorMap, decode, encode
from specfleet_trainer import residual
from specfleet_trainer.batch import training_rows
from specfleet_trainer.buffer import Buffer
from specfleet_trainer.checkpoint import Tables
from specfleet_trainer.lessons import learn
from specfleet_trainer.residual import Residual
from specfleet_trainer.restricted import Sampling
from specfleet_trainer.sequences import Sequence as Rows
from specfleet_trainer.step import TrainingStep

_NO_LIMIT = 1 << 40


@dataclass(frozen=True, slots=True)
class Recipe:
    """What federations may differ in."""

    codec: Codec = Codec.FLOAT32
    dpace: bool = False
    through_chain: bool = False
    sampling: Sampling | None = None
    combine: Rule = Rule.MEAN
    fault: Fault | None = None
    """Of the last worker; None when all are honest."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What federations that are compared have in common."""

    rounds: int
    local_steps: int
    rows_per_step: int
    learning_rate: float
    depth_weights: tuple[float, ...]
    outer_learning_rate: float
    outer_momentum: float
    dtype: str


@dataclass(frozen=True, slots=True)
class Round:
    """The version that a round made, and what it took: bytes are those of one worker."""

    number: int
    version: bytes
    up_bytes: float
    patch_bytes: int
    cpu_seconds: float
    """Of all workers' training steps."""
    positions: int
    norms: tuple[float, ...]
    """Of the workers' deltas."""
    left_out: tuple[str, ...]
    """The workers whose deltas had no part in the version, by their place."""


def federate(
    stock: TensorMap,
    tables: Tables,
    shares: Sequence[Sequence[Rows]],
    recipe: Recipe,
    plan: Plan,
    *,
    seed: int,
) -> Iterator[Round]:
    """Return the rounds as they end; every share of the requests is one worker's traffic."""
    version = encode(stock, plan.dtype)
    shapes = {name: array.shape for name, array in stock.items()}
    faults = [None] * (len(shares) - 1) + [recipe.fault]
    workers = [
        Worker(version, tables, share, recipe, plan, fault=fault, seed=1000 * seed + index)
        for index, (share, fault) in enumerate(zip(shares, faults, strict=True))
        if fault is not Fault.ABSENT
    ]
    state = initial_state(decode(version))
    for number in range(1, plan.rounds + 1):
        began, positions_before = time.process_time(), sum(worker.positions for worker in workers)
        pushed = [worker.train(decode(version)) for worker in workers]
        cpu_seconds = time.process_time() - began
        opened = {
            str(place): deltas.open_delta(data, recipe.codec, shapes=shapes)
            for place, data in enumerate(pushed)
        }
        combined = combine(opened, recipe.combine)
        state = outer_step(
            state, combined.delta, lr=plan.outer_learning_rate, momentum=plan.outer_momentum
        )
        before, version = version, encode(state.parameters, plan.dtype)
        yield Round(
            number=number,
            version=version,
            up_bytes=float(np.mean([len(data) for data in pushed])),
            patch_bytes=patch_bytes(before, version),
            cpu_seconds=cpu_seconds,
            positions=sum(worker.positions for worker in workers) - positions_before,
            norms=tuple(length(delta) for delta in opened.values()),
            left_out=tuple(one.worker_id for one in combined.left_out),
        )


def patch_bytes(before: bytes, version: bytes) -> int:
    """Return the size of the patch between two versions."""
    return sum(len(part) for part in patch.encode_parts(memoryview(before), memoryview(version)))


class Worker:
    """What a trainer does in a round, with the requests of one engine."""

    def __init__(
        self,
        stock: bytes,
        tables: Tables,
        share: Sequence[Rows],
        recipe: Recipe,
        plan: Plan,
        *,
        fault: Fault | None,
        seed: int,
    ) -> None:
        self.positions = 0
        self._fault = fault
        self._recipe = recipe
        self._plan = plan
        self._random = np.random.default_rng(seed)
        self._noise = np.random.default_rng([seed, 1])
        self._step = TrainingStep(
            head_of(stock),
            tables,
            learning_rate=plan.learning_rate,
            depth_weights=plan.depth_weights,
            dpace=recipe.dpace,
            sampling=recipe.sampling,
            seed=seed,
            through_chain=recipe.through_chain,
        )
        # A request may be used any number of times, so that all make the same number of steps.
        self._buffer = Buffer(max_rows=_NO_LIMIT, max_uses=_NO_LIMIT)
        requests = seen(share, fault, seed)
        for index in self._random.permutation(len(requests)):
            if training_rows(requests[index], self._step.depths):
                self._buffer.add(requests[index])
        self._residual = Residual()

    def train(self, base: dict[str, Array]) -> bytes:
        """Make the steps of one round from a version, and return the encoded delta."""
        codec = self._recipe.codec
        self._step.head.load_checkpoint(base)
        for _ in range(self._plan.local_steps):
            result = learn(self._buffer, self._step, self._plan.rows_per_step, self._random)
            self.positions += result.positions
        local = self._step.head.to_checkpoint()
        learned = {name: base[name] - local[name] for name in local}
        delta = sent(learned, self._fault, self._noise)
        wanted = residual.compensated(delta, self._residual)
        data = deltas.encode(wanted, codec)
        # Every delta counts here, so what is pending is owed at once.
        after = residual.after_delivery(self._residual, wanted, data, codec)
        self._residual = Residual(kept=after.pending)
        return data
