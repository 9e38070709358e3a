"""A trainer that is killed, or whose engine, version or state is not what it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from specfleet_common import exchange
from specfleet_common.shm.ring import RingWriter
from specfleet_trainer.session import VersionError
from specfleet_trainer.tests import engine
from specfleet_trainer.tests.running import NewTrainer, report, run_until_idle


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
