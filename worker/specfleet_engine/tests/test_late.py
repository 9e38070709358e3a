"""Steps on a device: what is told of them is what a step on a CPU tells, only later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from specfleet_common.shm.capture import Begin, End, Step
from specfleet_common.shm.layout import Layout
from specfleet_common.shm.pages import PageWriter
from specfleet_engine.capturing import Capture
from specfleet_engine.following import Following, FollowPolicy, NewRequest
from specfleet_engine.runners.at_once import AtOnce
from specfleet_engine.runners.late import LateSteps
from specfleet_engine.runners.slots import MOST_SLOTS, Copies, SlotSizes
from specfleet_engine.session import Session
from specfleet_engine.step import Batch, Proposal, RunnerObserver, Scheduled
from specfleet_engine.tests.fake_device import FakeDevice
from specfleet_engine.tests.test_layouts import LAYOUT, own
from specfleet_engine.tests.test_live import live
from specfleet_engine.weights.exchanging import Ready
from specfleet_engine.weights.live import LiveDrafter
from specfleet_engine.weights.movers import DeviceMover

HIDDEN, DEPTHS = 4, 2
LATE_SECONDS = 1.0


class Sink:
    """Keeps records."""

    def __init__(self) -> None:
        self.records: list[Begin | Step | End] = []

    def put(self, record: Begin | Step | End) -> bool:
        self.records.append(record)
        return True


class Engine:
    """A session whose runner is on a device, or not, and a clock that only the test moves."""

    def __init__(self, folder: Path, *, late: bool, rows: int = 64) -> None:
        self.now = 0.0
        self.sink = Sink()
        self.device = FakeDevice(LATE_SECONDS, clock=lambda: self.now)
        parameters = {name: torch.nn.Parameter(value) for name, value in own(0).items()}
        plain = {name: parameter.data for name, parameter in parameters.items()}
        mover = DeviceMover(plain, self.device, self.device.main)
        self.live = LiveDrafter(parameters, LAYOUT, mover if late else None)
        lineage = self.live.lineage("target")
        policy = FollowPolicy("fleet", 2, 1000, holdout_percent=0, key_tokens=16)
        self.session = Session(
            directory=folder,
            layout=Layout("mtp", "mimo", lineage.id, HIDDEN, "float32", DEPTHS),
            lineage=lineage,
            live=self.live,
            capture=Capture(Following(policy), self.sink),
            page=PageWriter.create(folder / f"{late}.page"),
            clock=lambda: self.now,
        )
        sizes = SlotSizes(8, rows, HIDDEN, torch.float32, DEPTHS)
        self.observer: RunnerObserver = AtOnce(self.session)
        if late:
            self.copies = Copies(sizes, self.device)
            self.observer = LateSteps(self.session, self.copies, mover, self.device)

    def step(
        self,
        *requests: tuple[str, int, int],
        new: tuple[str, ...] = (),
        finished: tuple[str, ...] = (),
        number: int = 0,
        drafts: bool = True,
    ) -> None:
        """Do a step of a second: per request its id, its rows, and how many were rejected."""
        names = [name for name, _, _ in requests]
        begun = [NewRequest(name, [1, 2], 0, 900, 0, frozenset(), name) for name in new]
        counts = [rows for _, rows, _ in requests]
        self.observer.step_begins(Scheduled(begun, finished, names, sum(counts)))
        self.now += 0.5
        if requests and drafts:
            self._drafts(requests, new, 100 * number)
        self.now += 0.5
        self.observer.step_ends()

    def _drafts(self, requests: tuple[Any, ...], new: tuple[str, ...], offset: int) -> None:
        names = [name for name, _, _ in requests]
        counts = [rows for _, rows, _ in requests]
        rows = torch.arange(sum(counts)) + offset
        hidden = rows[:, None].float().repeat(1, HIDDEN)
        proposal = Proposal(
            Batch(
                request_ids=names,
                starts=np.cumsum([0, *counts]),
                drafted=np.array([0 if name in new else DEPTHS for name in names]),
                unfinished=np.zeros(len(names), np.bool_),
            ),
            tokens=rows.int(),
            positions=torch.cat([torch.arange(count) + offset for count in counts]),
            next_tokens=torch.tensor([offset + 90 + at for at in range(len(names))]),
            hidden=hidden,
            rejected=None if new else torch.tensor([one for _, _, one in requests]),
        )
        self.observer.verified(proposal)
        self.observer.drafted(torch.tensor([[offset, at] for at in range(len(names))]))
        # What the runner does next with its memory.
        rows.fill_(-1)
        hidden.fill_(-1)

    def told(self) -> dict[str, Any]:
        """Return the sums without what is a matter of the machine's own time."""
        told = dict(self.session.accounts.snapshot())
        told["requests"] = [one["digests"] for one in told["requests"]]  # type: ignore[attr-defined]
        return told


def story(engine: Engine) -> None:
    """Three requests of which two are followed; one ends while its last step is under way."""
    engine.step(("a", 2, 0), ("b", 3, 0), new=("a", "b"), number=1)
    engine.step(("b", 3, 1), ("a", 3, 0), number=2)
    engine.step(("c", 2, 0), new=("c",), finished=("a",), number=3)
    engine.step(("c", 3, 2), ("b", 3, 0), number=4)
    engine.step(("c", 3, 2), finished=("b",), number=5, drafts=False)
    engine.step(finished=("c",))


def plain(record: Begin | Step | End) -> Any:
    if not isinstance(record, Step):
        return record
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name in (
            "number",
            "digest",
            "serials",
            "first",
            "rows",
            "drafts",
            "tokens",
            "fed",
            "positions",
            "hidden",
        )
        for value in [getattr(record, name)]
    }


def test_late_steps_tell_what_steps_tell_at_once(tmp_path: Path) -> None:
    at_once, late = Engine(tmp_path, late=False), Engine(tmp_path, late=True)

    story(at_once)
    story(late)
    late.now += LATE_SECONDS
    late.session.exchange.between_steps(late.observer.tell)  # type: ignore[attr-defined]

    assert list(map(plain, late.sink.records)) == list(map(plain, at_once.sink.records))
    assert late.told() == at_once.told()
    assert len(at_once.sink.records) > 8


def test_nothing_is_read_before_the_device_is_done(tmp_path: Path) -> None:
    engine = Engine(tmp_path, late=True)

    engine.step(("a", 2, 0), new=("a",), number=1)
    engine.session.exchange.between_steps(engine.observer.tell)  # type: ignore[attr-defined]
    before = len(engine.sink.records)
    engine.step(("a", 3, 0), number=2)
    engine.step(("a", 3, 0), number=3)

    assert before == 0
    assert [type(record).__name__ for record in engine.sink.records][:2] == ["Begin", "Step"]


def test_without_a_free_slot_a_step_is_a_gap_and_its_requests_end(tmp_path: Path) -> None:
    engine = Engine(tmp_path, late=True)
    # The device stands still.
    engine.device._seconds = 1e9

    for number in range(MOST_SLOTS + 1):
        engine.step(("a", 2, 0), new=("a",) if number == 0 else (), number=number)
    engine.now += 1e9
    engine.session.exchange.between_steps(engine.observer.tell)  # type: ignore[attr-defined]

    ends = [record for record in engine.sink.records if isinstance(record, End)]
    assert [end.reason for end in ends] == ["dropped"]
    assert engine.told()["capture"]["skipped_steps"] == 1


def test_rows_for_which_a_slot_has_no_room_end_their_request_alone(tmp_path: Path) -> None:
    engine = Engine(tmp_path, late=True, rows=4)

    engine.step(("a", 3, 0), ("b", 3, 0), new=("a", "b"), number=1)
    engine.now += LATE_SECONDS
    engine.session.exchange.between_steps(engine.observer.tell)  # type: ignore[attr-defined]

    (step,) = (record for record in engine.sink.records if isinstance(record, Step))
    (end,) = (record for record in engine.sink.records if isinstance(record, End))
    assert step.serials.tolist() == [0]
    assert (end.serial, end.reason) == (1, "dropped")


def test_drafts_belong_to_who_was_live_when_the_device_made_them(tmp_path: Path) -> None:
    engine, (other, _) = Engine(tmp_path, late=True), live(1)
    engine.step(("a", 2, 0), new=("a",), number=1)

    staged = engine.live.stage(other.stock, other.stock_digest)
    engine.session.exchange.offer(Ready(staged, other.stock_digest, 1))
    engine.step(("a", 3, 0), number=2)
    engine.now += LATE_SECONDS
    engine.session.exchange.between_steps(engine.observer.tell)  # type: ignore[attr-defined]

    steps = [record for record in engine.sink.records if isinstance(record, Step)]
    assert [step.digest for step in steps] == ["stock", other.stock_digest]
    assert engine.live.holds_what_it_should()


def test_a_failure_leaves_the_weights_free_and_says_why(tmp_path: Path) -> None:
    engine = Engine(tmp_path, late=True)
    engine.observer.step_begins(Scheduled((), (), ["a"], 1))

    engine.observer.fail(RuntimeError("broken"))

    assert not engine.session.exchange.in_step


def test_a_drafter_outside_of_a_step_is_a_fault(tmp_path: Path) -> None:
    engine = Engine(tmp_path, late=True)

    with pytest.raises(AssertionError, match="outside of a step"):
        engine.observer.drafted(torch.zeros((1, DEPTHS)))
