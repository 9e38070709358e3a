from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from specfleet_trainer.batch import UNKNOWN, Batch, pack, training_rows
from specfleet_trainer.checkpoint import Tables
from specfleet_trainer.heads.mimo import MimoConfig, MimoHead
from specfleet_trainer.loss import cross_entropy
from specfleet_trainer.restricted import Sampling
from specfleet_trainer.sequences import recorded
from specfleet_trainer.step import TrainingStep
from specfleet_trainer.tests.builders import CONFIG, sequence, tiny
from specfleet_trainer.tests.plain import PlainStep


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


@pytest.mark.parametrize("value", [1.0, float("nan")])
def test_no_gradient_takes_memory_between_steps(tmp_path: Path, value: float) -> None:
    step = training(tmp_path)
    given = batch()
    given.hidden[0] *= value

    step.run(given)

    assert all(parameter.grad is None for _, parameter in step.head.named_parameters())


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


@pytest.mark.parametrize("through_chain", [True, False])
def test_steps_have_the_losses_of_a_plain_autograd_step(
    tmp_path: Path, through_chain: bool
) -> None:
    head, tables = tiny(tmp_path)
    weights = {name: torch.from_numpy(w) for name, w in head.to_checkpoint().items()}
    plain = PlainStep(
        weights, CONFIG, tables.embedding, tables.lm_head, 1e-2, (1.0, 0.6, 0.36), through_chain
    )
    step = TrainingStep(
        head,
        tables,
        learning_rate=1e-2,
        depth_weights=(1.0, 0.6, 0.36),
        through_chain=through_chain,
    )
    items = [sequence(rows=rows, seed=rows) for rows in (10, 14, 20)]

    for item in items * 2:
        losses = step.run(pack([(item, training_rows(item, 3))], 3)).losses
        assert losses == pytest.approx(plain.run(item), rel=2e-4)


def gradients(tables: Tables, *, through_chain: bool = False) -> dict[str, Tensor]:
    """Return the gradients of a head of middling size, computed in the type of the tables."""
    torch.manual_seed(0)
    head = MimoHead(MimoConfig(256, 512, 4, 2, 64, 1e4, 1e-6))
    random = np.random.default_rng(0)
    tokens = random.integers(0, 2000, 97).astype(np.int32)
    item = recorded(tokens, random.standard_normal((96, 256)).astype(np.float32))
    batch = pack([(item, training_rows(item, 3))], 3)
    outputs = head.depth_outputs(batch, tables.embedding, through_chain=through_chain)
    losses = cross_entropy(torch.cat(outputs), batch.labels.T.flatten(), tables.lm_head)
    torch.autograd.backward(losses.mean())
    return {name: p.grad for name, p in head.named_parameters() if p.grad is not None}


def middling_tables() -> Tables:
    table = torch.randn(2000, 256, generator=torch.Generator().manual_seed(1)) / 16
    return Tables(embedding=table, lm_head=3 * table)


def test_gradients_in_bfloat16_are_within_one_percent_of_float32() -> None:
    exact = gradients(middling_tables())

    rounded = gradients(middling_tables().to(torch.bfloat16))

    errors = {n: float((rounded[n] - g).norm() / g.norm()) for n, g in exact.items()}
    assert exact.keys() == rounded.keys()
    # A key's bias shifts all scores of a query, so its gradient is what cancelling leaves.
    assert all(error < 0.01 for n, error in errors.items() if n != "self_attn.k_proj.bias"), errors


def test_steps_in_bfloat16_learn_with_weights_in_float32(tmp_path: Path) -> None:
    head, tables = tiny(tmp_path)
    step = TrainingStep(
        head, tables.to(torch.bfloat16), learning_rate=1e-2, depth_weights=(1.0, 0.6, 0.36)
    )
    before = step.losses(batch())

    for _ in range(40):
        step.run(batch())

    after = step.losses(batch())
    assert all(a < 0.6 * b for a, b in zip(after, before, strict=True))
    assert all(p.dtype == torch.float32 for _, p in head.named_parameters())


def test_the_gradient_stops_between_depths_unless_told_otherwise() -> None:
    stopped = gradients(middling_tables())

    through = gradients(middling_tables(), through_chain=True)

    assert not torch.allclose(stopped["input_proj.weight"], through["input_proj.weight"], rtol=0.01)


def test_dpace_trains_the_depths_that_are_reached(tmp_path: Path) -> None:
    head, tables = tiny(tmp_path)
    step = TrainingStep(head, tables, learning_rate=1e-2, depth_weights=(1.0,) * 3, dpace=True)
    before = step.losses(batch())

    for _ in range(40):
        step.run(batch())

    after = step.losses(batch())
    assert all(a < 0.7 * b for a, b in zip(after, before, strict=True))


def test_a_restricted_loss_trains_as_the_full_one(tmp_path: Path) -> None:
    head, tables = tiny(tmp_path)
    sampling = Sampling(own=4, draws=12)
    step = TrainingStep(
        head, tables, learning_rate=1e-2, depth_weights=(1.0, 0.6, 0.36), sampling=sampling
    )
    before = step.losses(batch())

    for _ in range(40):
        step.run(replace(batch(), own=torch.full((len(batch().queries), 3, 4), UNKNOWN)))

    after = step.losses(batch())
    assert all(a < 0.6 * b for a, b in zip(after, before, strict=True))
