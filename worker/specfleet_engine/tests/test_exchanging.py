"""Weights that wait to go live, are taken back, and go live with those of other ranks."""

from __future__ import annotations

import time

from specfleet_engine.weights.exchanging import Exchange, Ready


class Weights:
    """Weights that are only a name."""

    def __init__(self) -> None:
        self.digest = self.stock_digest = "stock"

    @property
    def stock(self) -> bytes:
        return b""

    def stage(self, data: bytes, digest: str) -> str:
        return digest

    def apply(self, staged: str) -> None:
        self.digest = staged

    def holds_what_it_should(self) -> bool:
        return True


class Gate:
    """Opens when it is told to."""

    def __init__(self) -> None:
        self.is_open = False
        self.promised: int | None = None
        self.waiting: list[int | None] = []
        self.asked: list[int] = []

    def waits(self, sequence: int | None) -> None:
        self.waiting.append(sequence)

    def is_promised(self, sequence: int) -> bool:
        return sequence == self.promised

    def opens(self, sequence: int, *, step: int, idle_seconds: float) -> bool:
        self.asked.append(step)
        return self.is_open


def exchange(gate: Gate | None = None) -> Exchange[str]:
    return Exchange(Weights(), clock=time.monotonic, gate=gate)


def step(subject: Exchange[str]) -> str:
    """Do a step and return what was live in it."""
    subject.step_begins()
    live = subject.live.digest
    subject.step_ends()
    return live


def test_what_is_taken_back_does_not_go_live() -> None:
    subject = exchange()
    subject.offer(Ready("new", "new", 1))

    assert subject.withdraw()

    assert step(subject) == "stock"
    assert subject.is_settled


def test_what_was_taken_back_goes_live_when_nothing_came_in_its_place() -> None:
    subject = exchange()
    subject.offer(Ready("new", "new", 1))
    subject.withdraw()

    subject.restore()

    assert step(subject) == "new"


def test_weights_wait_until_all_ranks_go() -> None:
    subject = exchange(gate := Gate())
    subject.offer(Ready("new", "new", 1))

    before = [step(subject), step(subject)]
    gate.is_open = True
    after = step(subject)

    assert (before, after) == (["stock", "stock"], "new")
    assert gate.asked == [1, 2, 3]
    assert gate.waiting == [1]


def test_what_other_ranks_count_on_is_not_taken_back() -> None:
    subject = exchange(gate := Gate())
    subject.offer(Ready("new", "new", 1))
    gate.promised = 1

    taken = subject.withdraw()
    gate.is_open = True

    assert not taken
    assert gate.waiting == [1, None, 1]
    assert step(subject) == "new"


def test_an_idle_engine_exchanges_and_does_what_is_to_be_done_meanwhile() -> None:
    subject, done = exchange(), []
    subject.offer(Ready("new", "new", 1))

    subject.between_steps(lambda: done.append(subject.live.digest))

    assert done == ["new"]


def test_nothing_is_done_in_between_while_a_step_runs() -> None:
    subject, done = exchange(), []
    subject.step_begins()

    subject.between_steps(lambda: done.append(1))

    assert done == []
