"""What a head learns from simulated traffic shows in walks over simulated requests it never saw.

The live acceptance of a simulated engine is set by the test; replay is not, it is made of this.
"""

from __future__ import annotations

from collections.abc import Iterator
from os import environ
from pathlib import Path

import numpy as np
import pytest
import torch

from e2e.collecting import collect_from
from e2e.documents import beginnings, seen, unseen
from e2e.engines import MODEL, running_engine
from e2e.simulator.running import simulated
from e2e.walking import DEPTHS, head_of
from specfleet_common.shm.names import STOCK_FILE
from specfleet_common.tensors import encode
from specfleet_trainer.buffer import Buffer
from specfleet_trainer.checkpoint import read_tables
from specfleet_trainer.lessons import learn
from specfleet_trainer.restricted import sampling_for
from specfleet_trainer.step import TrainingStep
from specfleet_trainer.walk import walks

FAST = {"SIMULATOR_STEP_SECONDS": "0.002", "SIMULATOR_TTFT_SECONDS": "0.002"}
MAX_TOKENS = 48
ROWS_PER_STEP = 512
STEPS = 12
"""From one version to the next."""


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Let a small head be trained as its trainer does: more threads wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def test_training_on_simulated_traffic_wins_walks_over_requests_never_seen(tmp_path: Path) -> None:
    with running_engine(tmp_path, environment=simulated(environ) | FAST) as engine:
        stock = (engine.shm / STOCK_FILE).read_bytes()
        lessons = collect_from(engine, beginnings(seen("hi")[:64]), max_tokens=MAX_TOKENS)
        held_out = collect_from(engine, beginnings(unseen("hi")[:12]), max_tokens=MAX_TOKENS)
    tables = read_tables(MODEL)
    buffer = Buffer(max_rows=1 << 16, max_uses=100)
    for rows in lessons:
        buffer.add(rows)
    random = np.random.default_rng(0)
    head = head_of(stock)
    training = TrainingStep(
        head,
        tables,
        learning_rate=0.003,
        depth_weights=(1.0, 0.6, 0.36),
        sampling=sampling_for(len(tables.lm_head)),
    )
    versions = [stock]

    for _ in range(2):
        for _ in range(STEPS):
            learn(buffer, training, ROWS_PER_STEP, random)
        versions.append(encode(head.to_checkpoint(), "float32"))
    walked = walks([head_of(version) for version in versions], tables, held_out, DEPTHS)

    untrained, early, late = np.array([request.verify_steps for request in walked]).T
    assert (early < untrained).all()
    assert early.sum() < 0.9 * untrained.sum()
    assert late.sum() < 0.98 * early.sum()
