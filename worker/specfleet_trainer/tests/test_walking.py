from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from specfleet_common import exchange, tensors
from specfleet_common.exchange import Head as HeadFile
from specfleet_common.exchange import Walking, WalkReport
from specfleet_trainer.checkpoint import read_tables
from specfleet_trainer.heads import Head, blank_head
from specfleet_trainer.sequences import Sequence
from specfleet_trainer.tests import engine
from specfleet_trainer.tests.builders import CONFIG, sequence, write_model
from specfleet_trainer.walk import step_walk
from specfleet_trainer.walking import SAVE_SECONDS, Walker

DEPTHS = 2


class Machine:
    """A walker with the files around it, and a clock that stands until it is moved."""

    def __init__(self, folder: Path) -> None:
        self.state, self.shared = folder / "state", folder / "shm"
        self.tables = read_tables(write_model(folder / "model"))
        self.now = 0.0
        self.built = 0
        self.walker = self.new_walker()

    def new_walker(self) -> Walker:
        return Walker(
            self.state,
            self.shared,
            lineage_id=engine.LINEAGE,
            domain="main",
            build=self._build,
            tables=self.tables,
            depths=DEPTHS,
            clock=lambda: self.now,
        )

    def walk(
        self,
        newest: list[Sequence],
        first: Iterable[Sequence] = (),
        *,
        seconds: float = SAVE_SECONDS,
    ) -> bool:
        self.now += seconds
        return self.walker.walk(newest, list(first), alive=lambda: None)

    def walk_all(self, held_out: list[Sequence]) -> None:
        while self.walk(held_out):
            pass

    def report(self) -> WalkReport:
        found = exchange.read_message(self.state / exchange.WALKS, WalkReport)
        assert found is not None
        return found

    def steps(self, path: Path, request: Sequence) -> int:
        head = blank_head("mtp", "mimo", CONFIG, torch.float32)
        head.load_checkpoint(tensors.decode(path.read_bytes()))
        return step_walk(head, self.tables, request, DEPTHS).verify_steps

    def _build(self) -> Head:
        self.built += 1
        return blank_head("mtp", "mimo", CONFIG, torch.float32)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "state").mkdir()
    (tmp_path / "shm").mkdir()
    return Machine(tmp_path)


def requests(*serials: int) -> list[Sequence]:
    """Return held-out requests whose tokens repeat, so that heads are right now and then."""
    found = []
    for serial in serials:
        item = replace(
            sequence(rows=40, seed=serial, prompt_tokens=5, held_out=True), ring=7, key=serial
        )
        item.tokens[10:] = item.tokens[10]
        item.fed[:] = item.tokens[1:]
        found.append(item)
    return found


def change(state: Path, alter: Callable[[Walking], Walking]) -> None:
    wanted = exchange.read_message(state / exchange.WALKING, Walking)
    assert wanted is not None
    exchange.write_message(state / exchange.WALKING, alter(wanted))


def test_every_head_walks_every_request_that_is_held(machine: Machine) -> None:
    wanted = engine.give_walking(machine.state, machine.shared)
    held_out = requests(1, 2)

    machine.walk_all(held_out)

    found = machine.report()
    assert (found.promotion, found.lineage_id) == (wanted.promotion, engine.LINEAGE)
    assert found.problem == ""
    assert [walk.request for walk in found.walks] == [item.id for item in held_out]
    assert [walk.conversation for walk in found.walks] == [f"{1:016x}", f"{2:016x}"]
    for walk, item in zip(found.walks, held_out, strict=True):
        assert walk.tokens == 35
        assert walk.candidate_steps == machine.steps(machine.state / wanted.candidate.file, item)
        assert walk.stable_steps == machine.steps(machine.state / wanted.stable.file, item)
        assert walk.stock_steps == machine.steps(machine.shared / "stock.safetensors", item)


def test_requests_that_come_later_are_walked_too(machine: Machine) -> None:
    engine.give_walking(machine.state, machine.shared)
    machine.walk_all(requests(1))

    machine.walk_all(requests(1, 2))

    assert [walk.request for walk in machine.report().walks] == [item.id for item in requests(1, 2)]


def test_what_was_served_first_takes_turns_with_the_newest_and_is_told_apart(
    machine: Machine,
) -> None:
    engine.give_walking(machine.state, machine.shared)

    while machine.walk(requests(4, 5), requests(1, 2, 3)):
        pass

    told = [(walk.request, walk.domain) for walk in machine.report().walks]
    one, two, three, four, five = (item.id for item in requests(1, 2, 3, 4, 5))
    assert {told[0], told[2], told[4]} == {(one, "main"), (two, "main"), (three, "main")}
    assert {told[1], told[3]} == {(four, ""), (five, "")}


def test_without_a_promotion_nothing_is_walked_or_written(machine: Machine) -> None:
    walked = machine.walk(requests(1))

    assert not walked
    assert not (machine.state / exchange.WALKS).exists()


def test_walks_are_written_at_most_once_a_second_and_none_is_lost(machine: Machine) -> None:
    engine.give_walking(machine.state, machine.shared)
    held_out = requests(1, 2, 3)

    written = []
    for seconds in (10.0, 0.0, SAVE_SECONDS / 2, SAVE_SECONDS / 2):
        machine.walk(held_out, seconds=seconds)
        written.append(len(machine.report().walks))

    assert written == [1, 1, 1, 3]


def test_a_file_with_nothing_new_is_left_alone(machine: Machine) -> None:
    engine.give_walking(machine.state, machine.shared)
    machine.walk_all(requests(1))
    before = (machine.state / exchange.WALKS).stat()

    machine.walk(requests(1))

    assert (machine.state / exchange.WALKS).stat() == before


def test_after_a_restart_the_walks_of_the_same_promotion_go_on(machine: Machine) -> None:
    engine.give_walking(machine.state, machine.shared)
    machine.walk_all(requests(1))

    machine.walker = machine.new_walker()
    machine.walk_all(requests(2))

    assert [walk.request for walk in machine.report().walks] == [item.id for item in requests(1, 2)]


def test_a_request_that_was_walked_in_an_earlier_life_is_not_walked_again(
    machine: Machine,
) -> None:
    engine.give_walking(machine.state, machine.shared)
    machine.walk_all(requests(1))

    machine.walker = machine.new_walker()

    assert not machine.walk(requests(1))


def test_another_promotion_begins_with_no_walks_but_with_all_requests(machine: Machine) -> None:
    engine.give_walking(machine.state, machine.shared)
    machine.walk_all(requests(1, 2))

    engine.give_walking(machine.state, machine.shared, promotion="9-other", candidate_seed=9)
    machine.walk_all(requests(1, 2))

    found = machine.report()
    assert (found.promotion, len(found.walks)) == ("9-other", 2)


def test_walks_that_were_not_written_yet_are_when_the_promotion_ends(machine: Machine) -> None:
    engine.give_walking(machine.state, machine.shared)
    machine.walk(requests(1, 2))
    machine.walk(requests(1, 2), seconds=0.0)
    assert len(machine.report().walks) == 1

    (machine.state / exchange.WALKING).unlink()
    walked = machine.walk(requests(1, 2, 3), seconds=0.0)

    assert not walked
    assert len(machine.report().walks) == 2


def test_the_promotion_of_another_lineage_is_not_walked(machine: Machine) -> None:
    engine.give_walking(machine.state, machine.shared)
    change(machine.state, lambda wanted: replace(wanted, lineage_id="fedcba9876543210"))

    assert not machine.walk(requests(1))
    assert not (machine.state / exchange.WALKS).exists()


def test_orders_of_another_version_are_no_orders(machine: Machine) -> None:
    (machine.state / exchange.WALKING).write_text('{"promotion": 7}')

    assert not machine.walk(requests(1))


def test_walks_of_another_version_are_forgotten(machine: Machine) -> None:
    engine.give_walking(machine.state, machine.shared)
    (machine.state / exchange.WALKS).write_text("{}")

    machine.walk_all(requests(1))

    assert len(machine.report().walks) == 1


@pytest.mark.parametrize("damage", [None, b"", b"damaged"])
def test_a_head_that_cannot_be_used_is_told_and_tried_again_when_it_changes(
    machine: Machine, damage: bytes | None
) -> None:
    wanted = engine.give_walking(machine.state, machine.shared)
    path = machine.state / wanted.candidate.file
    whole = path.read_bytes()
    path.unlink()
    if damage is not None:
        path.write_bytes(damage)

    first = [machine.walk(requests(1)) for _ in range(3)]
    told = machine.report()
    path.write_bytes(whole)
    machine.walk_all(requests(1))

    assert not any(first)
    assert str(path) in told.problem and told.walks == ()
    assert (machine.report().problem, len(machine.report().walks)) == ("", 1)


def test_a_problem_does_not_cost_the_walks_of_before(machine: Machine) -> None:
    wanted = engine.give_walking(machine.state, machine.shared)
    machine.walk_all(requests(1))
    (machine.state / wanted.stable.file).unlink()

    machine.walker = machine.new_walker()
    machine.walk(requests(1, 2))

    assert (len(machine.report().walks), bool(machine.report().problem)) == (1, True)


def test_a_problem_of_an_earlier_life_is_over_when_the_heads_are_whole(machine: Machine) -> None:
    wanted = engine.give_walking(machine.state, machine.shared)
    path = machine.state / wanted.stable.file
    whole = path.read_bytes()
    path.unlink()
    machine.walk(requests(1))
    assert machine.report().problem

    path.write_bytes(whole)
    machine.walker = machine.new_walker()
    machine.walk([])

    assert machine.report().problem == ""


def test_a_stable_head_that_is_stock_is_read_from_where_the_engine_put_it(
    machine: Machine,
) -> None:
    engine.give_walking(machine.state, machine.shared)
    change(
        machine.state,
        lambda wanted: replace(
            wanted, stable=HeadFile(wanted.stock_digest, "version-0.safetensors")
        ),
    )

    machine.walk_all(requests(1))

    (walk,) = machine.report().walks
    assert walk.stable_steps == walk.stock_steps


def test_no_head_is_held_between_walks(machine: Machine) -> None:
    engine.give_walking(machine.state, machine.shared)
    machine.walk(requests(1, 2))
    before = machine.built

    machine.walk(requests(1, 2))

    assert machine.built == before + 1


def test_a_long_walk_gives_signs_of_life(machine: Machine) -> None:
    engine.give_walking(machine.state, machine.shared)
    signs: list[None] = []

    machine.walker.walk(requests(1), [], alive=lambda: signs.append(None))

    assert len(signs) >= 3
