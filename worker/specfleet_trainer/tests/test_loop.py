"""A trainer's rounds: orders, steps, deliveries, versions."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from structlog.testing import capture_logs
from structlog.typing import EventDict

from specfleet_common import exchange, tensors
from specfleet_common.shm.ring import RingWriter
from specfleet_trainer.loop import smoothed
from specfleet_trainer.tests import engine
from specfleet_trainer.tests.builders import sequence
from specfleet_trainer.tests.running import NewTrainer, report, run_until_idle, weights


def test_without_orders_or_engine_it_waits_and_says_so(
    state: Path, new_trainer: NewTrainer
) -> None:
    trainer = new_trainer()

    acted = trainer.turn()
    engine.give_orders(state)
    acted_without_an_engine = trainer.turn()

    assert not acted and not acted_without_an_engine
    assert report(state).phase == "waiting"


def test_a_round_begins_and_waits_for_data(
    state: Path, ring: RingWriter, new_trainer: NewTrainer
) -> None:
    engine.give_orders(state, round_=3)

    run_until_idle(new_trainer())

    found = report(state)
    assert (found.phase, found.round, found.version, found.local_steps) == ("waiting", 3, 3, 0)


def test_after_its_steps_it_delivers_base_minus_local_and_rests(
    state: Path, ring: RingWriter, new_trainer: NewTrainer
) -> None:
    orders = engine.give_orders(state, local_steps=4)
    engine.serve(ring, 4)

    run_until_idle(new_trainer())

    found = report(state)
    assert (found.phase, found.local_steps, found.requests) == ("delivered", 4, 4)
    path = state / exchange.delta_file(orders.round)
    assert found.delta_digest == tensors.content_digest(path.read_bytes())
    assert tensors.dtype_of(path.read_bytes()) == "float32"
    # 3 requests of 20 rows fill a step of 64; rows 3..17 have their two labels.
    assert found.delta_positions == found.positions == 4 * 3 * 15
    assert 0.0 < tensors.norm(weights(path)) < 1.0


def test_the_delta_takes_the_local_weights_to_the_base(
    state: Path, ring: RingWriter, new_trainer: NewTrainer
) -> None:
    orders = engine.give_orders(state, local_steps=4, publish_every_steps=4)
    engine.serve(ring, 3)
    trainer = new_trainer()

    while not (state / exchange.delta_file(0)).exists():
        assert trainer.turn()

    base = weights(state / orders.base_file)
    local = weights(state / exchange.LOCAL_WEIGHTS)
    for name, delta in weights(state / exchange.delta_file(0)).items():
        np.testing.assert_allclose(local[name], base[name] - delta, rtol=2**-8, atol=1e-7)


def test_local_weights_are_written_in_serving_dtype_when_due(
    state: Path, ring: RingWriter, new_trainer: NewTrainer
) -> None:
    engine.give_orders(state, local_steps=100, publish_every_steps=2)
    engine.serve(ring, 3)
    trainer = new_trainer()

    digests = []
    for _ in range(6):
        trainer.turn()
        digests.append(report(state).local_digest)

    data = (state / exchange.LOCAL_WEIGHTS).read_bytes()
    assert tensors.dtype_of(data) == "bfloat16"
    assert digests[:2] == ["", ""] and digests[2] == digests[3] != digests[4] == digests[5]
    assert digests[5] == tensors.content_digest(data)


def test_after_delivery_it_drifts_on_only_for_local_serving(
    state: Path, ring: RingWriter, new_trainer: NewTrainer
) -> None:
    engine.give_orders(state, local_steps=2, publish_every_steps=1)
    engine.serve(ring, 3)

    run_until_idle(new_trainer())

    found = report(state)
    assert (found.phase, found.local_steps) == ("delivered", 16)
    assert found.delta_positions == 2 * 3 * 15 < found.positions


def test_a_new_version_resets_the_weights_and_the_round(
    state: Path, ring: RingWriter, new_trainer: NewTrainer
) -> None:
    engine.give_orders(state, local_steps=2)
    engine.serve(ring, 3)
    trainer = new_trainer()
    run_until_idle(trainer)
    engine.give_orders(state, round_=1, local_steps=2)

    run_until_idle(trainer)

    found = report(state)
    assert (found.round, found.local_steps, found.total_steps) == (1, 2, 4)
    assert (found.delta_round, found.phase) == (1, "delivered")
    assert tensors.norm(weights(state / exchange.delta_file(1))) < 1.0


def test_a_step_on_damaged_data_is_skipped_and_counts_for_nothing(
    state: Path, ring: RingWriter, new_trainer: NewTrainer
) -> None:
    engine.give_orders(state)
    damaged = sequence(rows=20)
    damaged.hidden[:] = np.nan
    engine.serve_one(ring, damaged)

    with capture_logs() as logs:
        run_until_idle(new_trainer())

    skipped = [entry for entry in logs if entry["event"] == "step_skipped"]
    assert skipped and skipped[0]["gradient_norm"] == "nan"
    found = report(state)
    assert (found.local_steps, found.positions, found.loss) == (0, 0, ())


def test_the_report_names_the_delta_before_anything_is_scored(
    state: Path, ring: RingWriter, new_trainer: NewTrainer
) -> None:
    engine.give_orders(state, local_steps=2)
    engine.serve(ring, 3)
    engine.serve(ring, 2, first=50, held_out=True)
    reported: list[str] = []

    def look(_logger: object, _method: str, entry: EventDict) -> EventDict:
        if entry["event"] == "held_out_scored":
            reported.append(report(state).delta_digest)
        return entry

    with capture_logs(processors=[look]):
        run_until_idle(new_trainer())

    delta = (state / exchange.delta_file(0)).read_bytes()
    assert reported == [tensors.content_digest(delta)] * 2


def test_requests_that_are_asked_again_and_again_do_not_starve_a_round(
    state: Path, ring: RingWriter, new_trainer: NewTrainer
) -> None:
    engine.give_orders(state, local_steps=40)
    engine.serve(ring, 3)
    trainer = new_trainer()
    run_until_idle(trainer)
    worn_out = report(state)

    for _ in range(2):
        engine.serve(ring, 3)
        run_until_idle(trainer)

    assert (worn_out.phase, worn_out.local_steps) == ("waiting", 16)
    assert (report(state).phase, report(state).local_steps) == ("delivered", 40)


def test_scoring_what_was_held_out_leaves_the_local_weights_alone(
    state: Path, ring: RingWriter, new_trainer: NewTrainer
) -> None:
    engine.give_orders(state, local_steps=2, publish_every_steps=3)
    engine.serve(ring, 3)
    trainer = new_trainer()
    run_until_idle(trainer)
    plain = (state / exchange.LOCAL_WEIGHTS).read_bytes()
    for name in (exchange.TRAINER_STATE, exchange.LOCAL_WEIGHTS):
        (state / name).unlink()
    engine.serve(ring, 3)
    engine.serve(ring, 2, first=50, held_out=True)

    run_until_idle(new_trainer())

    assert (state / exchange.LOCAL_WEIGHTS).read_bytes() == plain


def test_the_reported_loss_is_smooth_and_starts_anew_with_other_depths() -> None:
    assert smoothed((1.0, 2.0), (2.0, 2.0)) == pytest.approx((1.1, 2.0))
    assert smoothed((1.0,), (3.0, 4.0)) == (3.0, 4.0)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_the_reported_loss_leaves_out_what_is_not_finite(value: float) -> None:
    assert smoothed((1.0, 2.0), (2.0, value)) == (1.0, 2.0)
    assert smoothed((), (value,)) == ()
