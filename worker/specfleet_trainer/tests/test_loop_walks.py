"""What is held out is walked and never trained."""

from __future__ import annotations

from pathlib import Path

from specfleet_common import exchange
from specfleet_common.exchange import WalkReport
from specfleet_common.shm.ring import RingWriter
from specfleet_trainer.tests import engine
from specfleet_trainer.tests.running import NewTrainer, report, run_until_idle


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
