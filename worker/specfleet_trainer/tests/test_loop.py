from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from structlog.testing import capture_logs
from structlog.typing import EventDict

from specfleet_common import exchange, tensors
from specfleet_common.codecs import deltas
from specfleet_common.codecs.codec import Codec
from specfleet_common.exchange import TrainerReport, WalkReport
from specfleet_common.shm.ring import RingWriter
from specfleet_trainer.loop import Trainer, smoothed
from specfleet_trainer.session import VersionError
from specfleet_trainer.settings import Settings
from specfleet_trainer.tests import engine
from specfleet_trainer.tests.builders import sequence, write_model

NewTrainer = Callable[[], Trainer]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    directory = tmp_path / "state"
    directory.mkdir()
    return directory


@pytest.fixture
def ring(tmp_path: Path) -> RingWriter:
    return engine.new_ring(tmp_path / "shm")


@pytest.fixture
def new_trainer(tmp_path: Path, state: Path) -> NewTrainer:
    """Return a function that starts a trainer on the same directories, as after a crash."""
    model = write_model(tmp_path / "model")
    settings = Settings(state_directory=state, shm_directory=tmp_path / "shm", model=model)
    ticks = iter(range(10**9))
    return lambda: Trainer(settings, clock=lambda: float(next(ticks)))


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


def test_a_killed_trainer_goes_on_exactly_where_it_was(
    state: Path, ring: RingWriter, new_trainer: NewTrainer
) -> None:
    engine.give_orders(state, local_steps=6)
    engine.serve(ring, 3)
    first = new_trainer()
    for _ in range(4):
        first.turn()
    before = (state / exchange.TRAINER_STATE).read_bytes()
    del first

    second = new_trainer()
    second.turn()

    found = report(state)
    assert (found.phase, found.local_steps) == ("waiting", 3)
    assert (state / exchange.TRAINER_STATE).read_bytes() == before
    engine.serve(ring, 3, first=10)
    run_until_idle(second)
    assert report(state).local_steps == 6
    assert report(state).phase == "delivered"


def test_a_trainer_killed_before_its_delta_was_written_writes_it(
    state: Path, ring: RingWriter, new_trainer: NewTrainer
) -> None:
    engine.give_orders(state, local_steps=3)
    engine.serve(ring, 3)
    first = new_trainer()
    for _ in range(4):
        first.turn()
    assert not (state / exchange.delta_file(0)).exists()
    del first

    run_until_idle(new_trainer())

    assert report(state).delta_digest
    assert (state / exchange.delta_file(0)).exists()


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


def test_held_out_requests_are_never_trained(
    state: Path, ring: RingWriter, new_trainer: NewTrainer
) -> None:
    engine.give_orders(state)
    engine.serve(ring, 3, held_out=True)

    run_until_idle(new_trainer())

    found = report(state)
    assert (found.phase, found.requests, found.positions) == ("waiting", 3, 0)


def walks(state: Path) -> WalkReport:
    found = exchange.read_message(state / exchange.WALKS, WalkReport)
    assert found is not None
    return found


def test_walks_and_steps_take_turns(
    tmp_path: Path, state: Path, ring: RingWriter, new_trainer: NewTrainer
) -> None:
    engine.give_orders(state, local_steps=100)
    engine.give_walking(state, tmp_path / "shm")
    engine.serve(ring, 3)
    engine.serve(ring, 4, first=50, held_out=True)
    trainer = new_trainer()
    trainer.turn()

    done = []
    for _ in range(12):
        trainer.turn()
        done.append((len(walks(state).walks), report(state).local_steps))

    assert done[:8] == [(1, 0), (1, 1), (2, 1), (2, 2), (3, 2), (3, 3), (4, 3), (4, 4)]
    assert done[8:] == [(4, 5), (4, 6), (4, 7), (4, 8)]


def test_while_there_is_nothing_to_train_on_all_that_is_held_out_is_walked(
    tmp_path: Path, state: Path, ring: RingWriter, new_trainer: NewTrainer
) -> None:
    engine.give_orders(state)
    engine.serve(ring, 5, held_out=True)
    trainer = new_trainer()
    run_until_idle(trainer)

    engine.give_walking(state, tmp_path / "shm")
    run_until_idle(trainer)

    found = walks(state)
    assert [walk.request for walk in found.walks] == [
        f"{ring.incarnation:016x}-{serial}" for serial in range(5)
    ]
    assert (report(state).positions, report(state).local_steps) == (0, 0)


def test_walking_does_not_change_what_is_learned(
    tmp_path: Path, state: Path, ring: RingWriter, new_trainer: NewTrainer
) -> None:
    engine.give_orders(state, local_steps=4)
    engine.serve(ring, 3)
    engine.serve(ring, 3, first=50, held_out=True)
    run_until_idle(new_trainer())
    plain = (state / exchange.delta_file(0)).read_bytes()
    for name in (exchange.TRAINER_STATE, exchange.delta_file(0)):
        (state / name).unlink()
    engine.give_walking(state, tmp_path / "shm")
    engine.serve(ring, 3)
    engine.serve(ring, 3, first=50, held_out=True)

    run_until_idle(new_trainer())

    assert (state / exchange.delta_file(0)).read_bytes() == plain
    assert len(walks(state).walks) == 3


def test_a_killed_trainer_keeps_its_walks_and_goes_on_with_new_requests(
    tmp_path: Path, state: Path, ring: RingWriter, new_trainer: NewTrainer
) -> None:
    engine.give_orders(state)
    engine.give_walking(state, tmp_path / "shm")
    engine.serve(ring, 2, held_out=True)
    run_until_idle(new_trainer())
    before = walks(state).walks

    engine.serve(ring, 2, first=2, held_out=True)
    run_until_idle(new_trainer())

    after = walks(state).walks
    assert len(after) == 4 and after[:2] == before


def test_a_head_that_is_no_use_does_not_stop_training(
    tmp_path: Path, state: Path, ring: RingWriter, new_trainer: NewTrainer
) -> None:
    engine.give_orders(state, local_steps=3)
    wanted = engine.give_walking(state, tmp_path / "shm")
    (state / wanted.candidate.file).write_bytes(b"damaged")
    engine.serve(ring, 3)
    engine.serve(ring, 2, first=50, held_out=True)

    run_until_idle(new_trainer())

    assert wanted.candidate.file in walks(state).problem
    assert report(state).phase == "delivered"


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


def test_the_capture_of_another_lineage_is_not_trained_on(
    state: Path, ring: RingWriter, new_trainer: NewTrainer
) -> None:
    engine.give_orders(state, lineage_id="fedcba9876543210")
    engine.serve(ring, 3)

    run_until_idle(new_trainer())

    assert (report(state).phase, report(state).requests) == ("waiting", 0)


def test_an_engine_of_another_target_starts_a_lineage_of_its_own(
    tmp_path: Path, state: Path, ring: RingWriter, new_trainer: NewTrainer
) -> None:
    engine.give_orders(state, local_steps=2)
    engine.serve(ring, 3)
    trainer = new_trainer()
    run_until_idle(trainer)
    other = engine.new_ring(tmp_path / "shm", lineage_id="fedcba9876543210")
    engine.serve(other, 3)
    engine.give_orders(state, lineage_id="fedcba9876543210", local_steps=3)

    for _ in range(20):
        trainer.turn()

    found = report(state)
    assert (found.lineage_id, found.phase, found.total_steps) == (
        "fedcba9876543210",
        "delivered",
        3,
    )


def test_a_version_that_is_gone_is_waited_for(
    state: Path, ring: RingWriter, new_trainer: NewTrainer
) -> None:
    orders = engine.give_orders(state)
    (state / orders.base_file).unlink()
    trainer = new_trainer()

    acted = trainer.turn()

    assert not acted
    assert report(state).phase == "waiting"
    engine.give_orders(state)
    assert trainer.turn()


def test_a_version_with_another_digest_is_refused(
    state: Path, ring: RingWriter, new_trainer: NewTrainer
) -> None:
    engine.give_orders(state, digest="0" * 64)

    with pytest.raises(VersionError, match=r"digest is \w+, expected 0000"):
        new_trainer().turn()


def test_an_unreadable_state_starts_the_round_anew(
    state: Path, ring: RingWriter, new_trainer: NewTrainer
) -> None:
    engine.give_orders(state)
    (state / exchange.TRAINER_STATE).write_bytes(b"")

    run_until_idle(new_trainer())

    assert (report(state).phase, report(state).local_steps) == ("waiting", 0)


def test_the_reported_loss_is_smooth_and_starts_anew_with_other_depths() -> None:
    assert smoothed((1.0, 2.0), (2.0, 2.0)) == pytest.approx((1.1, 2.0))
    assert smoothed((1.0,), (3.0, 4.0)) == (3.0, 4.0)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_the_reported_loss_leaves_out_what_is_not_finite(value: float) -> None:
    assert smoothed((1.0, 2.0), (2.0, value)) == (1.0, 2.0)
    assert smoothed((), (value,)) == ()
