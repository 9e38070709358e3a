from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from specfleet_trainer.batch import Batch, pack, training_rows
from specfleet_trainer.step import TrainingStep
from specfleet_trainer.tests.builders import sequence, tiny


def batch(depths: int = 3) -> Batch:
    items = [sequence(rows=rows, seed=rows) for rows in (10, 14)]
    return pack([(item, training_rows(item, depths)) for item in items], depths)


def training(directory: Path, learning_rate: float = 1e-2) -> TrainingStep:
    head, tables = tiny(directory)
    return TrainingStep(head, tables, learning_rate=learning_rate, depth_weights=(1.0, 0.6, 0.36))


def test_every_depth_learns_a_batch_that_comes_again(tmp_path: Path) -> None:
    step = training(tmp_path)
    before = step.losses(batch())

    for _ in range(40):
        step.run(batch())

    after = step.losses(batch())
    assert all(a < 0.6 * b for a, b in zip(after, before, strict=True))


def test_same_seed_gives_identical_losses_and_weights(tmp_path: Path) -> None:
    first, second = training(tmp_path), training(tmp_path)

    results = [[step.run(batch()) for _ in range(3)] for step in (first, second)]

    assert results[0] == results[1]
    weights = first.head.to_checkpoint()
    for name, array in second.head.to_checkpoint().items():
        assert np.array_equal(array, weights[name])


def test_a_step_reports_its_positions_and_the_losses_before_it(tmp_path: Path) -> None:
    step = training(tmp_path)
    before = step.losses(batch())

    result = step.run(batch())

    assert result.losses == pytest.approx(before)
    assert result.positions == (10 - 3) + (14 - 3)
    assert result.gradient_norm > 0.0


def test_a_gradient_that_is_not_finite_changes_neither_weights_nor_moments(
    tmp_path: Path,
) -> None:
    step, undisturbed = training(tmp_path), training(tmp_path)
    poisoned = batch()
    poisoned.hidden[0] = float("nan")
    step.run(batch())
    undisturbed.run(batch())

    result = step.run(poisoned)

    assert result.is_skipped and math.isnan(result.gradient_norm)
    assert step.run(batch()) == undisturbed.run(batch())
    weights = undisturbed.head.to_checkpoint()
    for name, array in step.head.to_checkpoint().items():
        assert np.array_equal(array, weights[name])


def test_one_depth_alone_is_trained_when_only_it_has_weight(tmp_path: Path) -> None:
    head, tables = tiny(tmp_path)
    step = TrainingStep(head, tables, learning_rate=1e-2, depth_weights=(1.0,))

    result = step.run(batch(depths=1))

    assert step.depths == len(result.losses) == 1


def test_a_new_learning_rate_holds_from_the_next_step(tmp_path: Path) -> None:
    step = training(tmp_path)
    step.follow(learning_rate=0.0, depth_weights=(1.0, 0.0, 0.0))
    before = step.head.to_checkpoint()

    step.run(batch())

    after = step.head.to_checkpoint()
    assert all(np.array_equal(before[name], after[name]) for name in before)
