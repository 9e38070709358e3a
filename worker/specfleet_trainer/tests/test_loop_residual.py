"""What encoding takes from a delta goes out with the next, restarts or not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

from specfleet_common import exchange, tensors
from specfleet_common.codecs import deltas
from specfleet_common.codecs.codec import Codec
from specfleet_common.shm.ring import RingWriter
from specfleet_trainer.tests import engine
from specfleet_trainer.tests.running import NewTrainer, report, run_until_idle, weights


def encoded(path: Path, like: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    shapes = {name: array.shape for name, array in like.items()}
    delta = deltas.open_delta(path.read_bytes(), Codec.TERNARY, shapes=shapes)
    return {n: np.concatenate(list(delta.blocks(n))).reshape(s) for n, s in shapes.items()}


def test_a_ternary_delta_is_smaller_and_says_so_in_the_report(
    state: Path, ring: RingWriter, new_trainer: NewTrainer
) -> None:
    orders = engine.give_orders(state, local_steps=2, codec=Codec.TERNARY)
    engine.serve(ring, 3)

    run_until_idle(new_trainer())

    found, data = report(state), (state / exchange.delta_file(0)).read_bytes()
    assert found.delta_codec is Codec.TERNARY
    assert found.delta_digest == deltas.digest(data, Codec.TERNARY)
    base = weights(state / orders.base_file)
    assert len(data) < sum(array.nbytes for array in base.values()) / 5
    assert 0.0 < tensors.norm(encoded(state / exchange.delta_file(0), base)) < 10.0


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("counted_version", [0, 1])
def test_what_a_counted_delta_left_over_goes_out_with_the_next(
    state: Path, ring: RingWriter, new_trainer: NewTrainer, counted_version: int, restarts: bool
) -> None:
    first = engine.give_orders(state, local_steps=2, codec=Codec.TERNARY)
    engine.serve(ring, 3)
    trainer = new_trainer()
    run_until_idle(trainer)
    base = weights(state / first.base_file)
    left_over = sum(float(np.abs(array).sum()) for array in pending(state).values())
    if restarts:
        trainer = new_trainer()

    # A round without steps learns nothing: all that it sends is what is owed.
    second = engine.give_orders(
        state, round_=1, local_steps=0, codec=Codec.TERNARY, counted_version=counted_version
    )
    run_until_idle(trainer)

    assert report(state).delta_round == second.round
    sent = encoded(state / exchange.delta_file(1), base)
    assert left_over > 0
    assert (tensors.norm(sent) > 0) == (counted_version == 1)


def state_names(state: Path) -> list[str]:
    with safe_open(state / exchange.TRAINER_STATE, framework="np") as file:
        return list(file.keys())


def pending(state: Path) -> dict[str, np.ndarray]:
    names = [name for name in state_names(state) if name.startswith("residual.pending.")]
    with safe_open(state / exchange.TRAINER_STATE, framework="np") as file:
        return {name: file.get_tensor(name) for name in names}


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize(("fresh", "forgets"), [(0, False), (1, True)])
def test_when_training_starts_from_stable_again_moments_and_residual_are_forgotten(
    state: Path,
    ring: RingWriter,
    new_trainer: NewTrainer,
    fresh: int,
    forgets: bool,
    restarts: bool,
) -> None:
    engine.give_orders(state, local_steps=2, codec=Codec.TERNARY)
    engine.serve(ring, 3)
    trainer = new_trainer()
    run_until_idle(trainer)
    if restarts:
        trainer = new_trainer()

    engine.give_orders(state, round_=1, codec=Codec.TERNARY, counted_version=1, fresh=fresh)
    trainer.turn()

    names = state_names(state)
    assert report(state).round == 1
    assert any(name.startswith("moment.") for name in names) is not forgets
    assert any(name.startswith("residual.kept.") for name in names) is not forgets


def test_they_are_forgotten_once(state: Path, ring: RingWriter, new_trainer: NewTrainer) -> None:
    engine.give_orders(state, local_steps=2, fresh=3)
    engine.serve(ring, 3)
    trainer = new_trainer()
    run_until_idle(trainer)

    engine.give_orders(state, round_=1, fresh=3)
    trainer.turn()

    assert any(name.startswith("moment.") for name in state_names(state))
