"""Positions per second of the product's training step, and of a plain one, in the same minutes.

A position is a token of the target's answer, with a label at every depth. Everything counts that a
step needs: taking requests from the buffer, packing them, and the search of own tokens when due.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

from e2e.bench.peaks import MeasuredPeaks, measure_peaks
from e2e.bench.plain import PlainStep, dense
from e2e.bench.product import Orders, Product, looked_at, size_of
from e2e.bench.roofline import seconds
from e2e.bench.shapes import QWEN, TINY, Shape, Traffic, random_sequences, random_table
from e2e.bench.timing import timed
from e2e.bench.work import step_work
from specfleet_trainer.checkpoint import Tables
from specfleet_trainer.compute import compute_type
from specfleet_trainer.compute import measure as measure_rates
from specfleet_trainer.memory import keep_freed_memory

ORDERS = Orders(rows_per_step=1024, learning_rate=1e-5, depth_weights=(1.0, 0.8, 0.64))
TRAFFIC = Traffic()
REQUESTS = 16
BLOCKS = 4
STEPS_PER_BLOCK = 8
"""Of the product's; a plain step takes much longer and is made once a block."""


@dataclass(frozen=True, slots=True)
class Block:
    """Both steps and the machine's peaks within one minute, so that other work meets all three."""

    step_seconds: float
    """Mean of the product's steps, the searches in between included."""
    plain_step_seconds: float
    least_seconds: float
    """What the roofline leaves for one of the product's steps."""
    peaks: MeasuredPeaks


def measure(_folder: Path) -> dict[str, Any]:
    """Measure both steps at both shapes, on all cores."""
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    keep_freed_memory()
    return {shape.name: measure_steps(shape, measure_peaks, BLOCKS) for shape in (TINY, QWEN)}


def measure_steps(
    shape: Shape, peaks_now: Callable[[], MeasuredPeaks], blocks: int
) -> dict[str, Any]:
    """Measure both steps in turn, and say what is typical of the blocks."""
    torch.manual_seed(0)
    table = random_table(shape, torch.Generator().manual_seed(1))
    random = np.random.default_rng(2)
    requests = random_sequences(shape, TRAFFIC, count=REQUESTS, random=random)
    dtype = compute_type(measure_rates(), hidden_size=shape.hidden)
    product = Product(shape, Tables(table, table).to(dtype), requests, ORDERS, random)
    plain = PlainStep(
        product.head.to_checkpoint(),
        shape,
        table,
        learning_rate=ORDERS.learning_rate,
        depth_weights=ORDERS.depth_weights,
    )
    plain_batch = dense(requests[: ORDERS.rows_per_step // TRAFFIC.rows])
    # As many steps as give every request its own tokens, and the optimisers their moments.
    for _ in range(REQUESTS * TRAFFIC.rows // ORDERS.rows_per_step):
        batch = product.step()
    plain.run(plain_batch)

    size = size_of(batch, dtype.itemsize)
    measured = []
    for _ in range(blocks):
        product.training.searched_positions = 0
        step_seconds = timed(lambda: [product.step() for _ in range(STEPS_PER_BLOCK)])
        searches = product.training.searched_positions / size.queries / STEPS_PER_BLOCK
        looked = looked_at(batch, shape.vocabulary, product.training.sampling, searches=searches)
        plain_step_seconds = timed(lambda: plain.run(plain_batch))
        peaks = peaks_now()
        least_seconds = seconds(step_work(shape, size, looked), peaks.of(dtype))
        measured.append(
            Block(step_seconds / STEPS_PER_BLOCK, plain_step_seconds, least_seconds, peaks)
        )
    return {
        "compute_type": str(dtype).removeprefix("torch."),
        "size": asdict(size),
        "looked_at": asdict(looked),
        "positions_per_second": size.queries / median(b.step_seconds for b in measured),
        "plain_positions_per_second": size.queries / median(b.plain_step_seconds for b in measured),
        "speedup": median(b.plain_step_seconds / b.step_seconds for b in measured),
        "roofline_share": median(b.least_seconds / b.step_seconds for b in measured),
        "blocks": [asdict(block) for block in measured],
    }
