"""Runs a trainer turn by turn, and reads what it wrote."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from specfleet_common import exchange, tensors
from specfleet_common.exchange import TrainerReport
from specfleet_trainer.loop import Trainer

NewTrainer = Callable[[], Trainer]


def run_until_idle(trainer: Trainer) -> None:
    for _ in range(1000):
        if not trainer.turn():
            return
    raise AssertionError("the trainer did not come to rest")


def report(state: Path) -> TrainerReport:
    found = exchange.read_message(state / exchange.REPORT, TrainerReport)
    assert found is not None
    return found


def weights(path: Path) -> dict[str, np.ndarray]:
    return tensors.decode(path.read_bytes())
