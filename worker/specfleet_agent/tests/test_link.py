from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from specfleet_agent.instruments import Instruments
from specfleet_agent.link import POLL_SECONDS, REFUSED_SECONDS, Link
from specfleet_agent.observing import Observer
from specfleet_agent.situation import Serve, Worker
from specfleet_agent.tests.builders import (
    STOCK_DIGEST,
    answer,
    digest,
    orders,
    report,
    start_engine,
    version,
    weights,
    worker,
)
from specfleet_agent.volume import Volume
from specfleet_common.exchange import ORDERS, REPORT, Orders, read_message, write_message
from specfleet_common.lineage import Lineage
from specfleet_common.wire.client import (
    Held,
    PatchUnusable,
    Pulled,
    Refused,
    Unauthorized,
    Unreachable,
)
from specfleet_common.wire.messages import (
    DeltaHeader,
    DeltaReply,
    Heartbeat,
    HeartbeatReply,
    Outcome,
    VersionRef,
)


@dataclass
class FakeAggregator:
    """Answers what the test tells it to; `failures` are raised first, one per call."""

    reply: HeartbeatReply = field(default_factory=answer)
    versions: dict[int, bytes] = field(default_factory=dict)
    outcome: Outcome = Outcome.ACCEPTED
    failures: list[Exception] = field(default_factory=list)
    beats: list[Heartbeat] = field(default_factory=list)
    stock: list[str] = field(default_factory=list)
    deltas: list[DeltaHeader] = field(default_factory=list)
    pulls: list[Held | None] = field(default_factory=list)

    def _fail(self) -> None:
        if self.failures:
            raise self.failures.pop(0)

    async def heartbeat(self, beat: Heartbeat) -> HeartbeatReply:
        self._fail()
        self.beats.append(beat)
        return self.reply

    async def put_stock(self, lineage: Lineage, source: Path, *, digest: str) -> VersionRef:
        self._fail()
        self.stock.append(digest)
        return VersionRef(0, digest, source.stat().st_size)

    async def push_delta(self, header: DeltaHeader, source: Path) -> DeltaReply:
        self._fail()
        self.deltas.append(header)
        return DeltaReply(self.outcome, "because")

    async def pull_version(
        self, lineage_id: str, number: int, *, into: Path, have: Held | None
    ) -> Pulled:
        self.pulls.append(have)
        self._fail()
        into.write_bytes(self.versions[number])
        return Pulled(version(number), 10, is_patch=have is not None)


class Linked:
    """A link with its files and a clock that counts the questions asked of it."""

    def __init__(self, directory: Path, who: Worker) -> None:
        self.state, self.shared = directory / "state", directory / "shm"
        self.state.mkdir()
        self.shared.mkdir()
        self.aggregator = FakeAggregator()
        self.registry = CollectorRegistry()
        self.now = 0.0
        volume = Volume(self.state, self.shared)
        self.link = Link(
            who,
            self.aggregator,
            volume,
            Observer(volume, engine_silence_seconds=1e9, clock=self.tick),
            Instruments(self.registry),
            phase=lambda reported: reported or "waiting",
            clock=self.tick,
        )

    def tick(self) -> float:
        self.now += 1.0
        return self.now

    def finish_round(self) -> None:
        """Leave what a trainer leaves that has finished round 3."""
        (self.state / "version-3.safetensors").write_bytes(weights(3))
        (self.state / "delta-3.bin").write_bytes(b"delta")
        write_message(self.state / ORDERS, orders())
        write_message(self.state / REPORT, report(delta_digest="d" * 64))
        self.aggregator.reply = answer(base=version(3))

    async def settle(self) -> None:
        """Beat once, then move until nothing is left to do."""
        await self.link.beat()
        for _ in range(10):
            if await self.link.move() > 0:
                return
        raise AssertionError("the link does not come to rest")


@pytest.fixture
def linked(tmp_path: Path) -> Linked:
    return Linked(tmp_path, worker(serve=Serve.STOCK))


async def test_without_an_engine_there_is_no_heartbeat(linked: Linked) -> None:
    pause_seconds = await linked.link.beat()

    assert (pause_seconds, linked.aggregator.beats) == (POLL_SECONDS, [])


async def test_a_page_of_another_version_counts_as_no_engine(linked: Linked) -> None:
    start_engine(linked.shared).write({"lineage": None})

    await linked.link.beat()

    assert linked.aggregator.beats == []


async def test_heartbeats_come_as_often_as_the_aggregator_says(linked: Linked) -> None:
    start_engine(linked.shared)
    linked.aggregator.reply = answer(heartbeat_seconds=7.0)

    pause_seconds = await linked.link.beat()

    assert (pause_seconds, linked.link.connected) == (7.0, True)


async def test_an_unreachable_aggregator_is_tried_for_ever_ever_more_slowly(
    linked: Linked,
) -> None:
    start_engine(linked.shared)
    linked.aggregator.failures = [Unreachable("UNAVAILABLE: 503")] * 50

    pauses = [await linked.link.beat() for _ in range(51)]

    assert pauses[:6] == [0.25, 0.5, 1.0, 2.0, 4.0, 4.0]
    assert pauses[-2:] == [4.0, 1.0]


async def test_a_refused_heartbeat_is_tried_again_too(linked: Linked) -> None:
    start_engine(linked.shared)
    linked.aggregator.failures = [Refused("INVALID_ARGUMENT: protocol: is 1, expected 2")]

    pauses = [await linked.link.beat() for _ in range(2)]

    assert pauses == [4.0, 1.0]


async def test_an_unanswered_heartbeat_leaves_the_last_answer_standing(linked: Linked) -> None:
    start_engine(linked.shared)
    linked.finish_round()
    await linked.link.beat()
    linked.aggregator.failures = [Unreachable("UNAVAILABLE")]
    await linked.link.beat()

    await linked.link.move()

    assert not linked.link.connected
    assert len(linked.aggregator.deltas) == 1


async def test_stock_is_handed_in_and_the_next_heartbeat_hastened(linked: Linked) -> None:
    start_engine(linked.shared)
    linked.aggregator.reply = answer(stock_wanted=True)
    await linked.link.beat()

    await linked.link.move()

    assert linked.aggregator.stock == [STOCK_DIGEST]
    assert linked.link.beat_soon.is_set()


async def test_stock_of_another_content_is_kept_back(linked: Linked) -> None:
    start_engine(linked.shared)
    (linked.shared / "stock.safetensors").write_bytes(weights(9))
    linked.aggregator.reply = answer(stock_wanted=True)

    await linked.settle()

    assert linked.aggregator.stock == []


async def test_a_version_is_pulled_before_the_trainer_hears_of_it(linked: Linked) -> None:
    start_engine(linked.shared)
    linked.aggregator.reply = answer(base=version(3))
    linked.aggregator.versions = {3: weights(3)}

    await linked.settle()

    assert (linked.state / "version-3.safetensors").read_bytes() == weights(3)
    assert read_message(linked.state / ORDERS, Orders) == orders()


async def test_a_pull_offers_the_version_that_is_here_as_the_base_of_a_patch(
    linked: Linked,
) -> None:
    start_engine(linked.shared)
    (linked.state / "version-2.safetensors").write_bytes(weights(2))
    linked.aggregator.reply = answer(base=version(3))
    linked.aggregator.versions = {3: weights(3)}

    await linked.settle()

    offered = VersionRef(2, digest(2), size_bytes=0)
    assert linked.aggregator.pulls == [Held(offered, linked.state / "version-2.safetensors")]


async def test_after_a_patch_that_leads_elsewhere_the_whole_version_is_fetched(
    linked: Linked,
) -> None:
    start_engine(linked.shared)
    (linked.state / "version-2.safetensors").write_bytes(weights(2))
    linked.aggregator.reply = answer(base=version(3))
    linked.aggregator.versions = {3: weights(3)}
    await linked.link.beat()
    linked.aggregator.failures = [PatchUnusable("because")]

    pause_seconds = await linked.link.move()

    assert pause_seconds == 0.0
    assert [have is not None for have in linked.aggregator.pulls] == [True, False]
    assert (linked.state / "version-3.safetensors").read_bytes() == weights(3)


async def test_a_version_with_the_wrong_content_is_fetched_again(linked: Linked) -> None:
    start_engine(linked.shared)
    linked.aggregator.reply = answer(base=version(3))
    linked.aggregator.versions = {3: weights(9)}
    await linked.link.beat()
    await linked.link.move()
    linked.aggregator.versions = {3: weights(3)}

    await linked.settle()

    assert (linked.state / "version-3.safetensors").read_bytes() == weights(3)


async def test_a_version_that_is_not_the_announced_one_is_not_used(linked: Linked) -> None:
    start_engine(linked.shared)
    announced = VersionRef(3, digest(4), 1)
    linked.aggregator.reply = answer(base=announced)
    linked.aggregator.versions = {3: weights(3)}
    await linked.link.beat()

    pause_seconds = await linked.link.move()

    assert pause_seconds == 0.25
    assert read_message(linked.state / ORDERS, Orders) is None


@pytest.mark.parametrize(
    ("failure", "pauses"),
    [
        pytest.param(Unreachable("UNAVAILABLE"), [0.25, 0.5, 1.0, 0.0], id="unreachable"),
        pytest.param(
            Unauthorized("UNAUTHENTICATED"), [0.25, 0.5, 1.0, 0.0], id="another-token-may-do"
        ),
        pytest.param(Refused("NOT_FOUND"), [REFUSED_SECONDS] * 3 + [0.0], id="refused"),
    ],
)
async def test_a_failed_transfer_is_tried_again(
    linked: Linked, failure: Exception, pauses: list[float]
) -> None:
    start_engine(linked.shared)
    linked.aggregator.reply = answer(base=version(3))
    linked.aggregator.versions = {3: weights(3)}
    await linked.link.beat()
    linked.aggregator.failures = [failure] * 3

    actual = [await linked.link.move() for _ in range(4)]

    assert actual == pauses


async def test_a_delta_is_pushed_once(linked: Linked) -> None:
    start_engine(linked.shared)
    linked.finish_round()

    await linked.settle()
    await linked.link.move()

    (header,) = linked.aggregator.deltas
    assert (header.worker_id, header.round, header.base_version) == ("worker-1", 3, 3)
    assert (header.digest, header.size_bytes) == ("d" * 64, len(b"delta"))
    assert (header.steps, header.positions) == (10, 600)


async def test_a_delta_that_a_restarted_aggregator_forgot_is_pushed_again(linked: Linked) -> None:
    start_engine(linked.shared)
    linked.finish_round()
    await linked.settle()

    await linked.settle()

    assert len(linked.aggregator.deltas) == 2


async def test_a_refused_delta_is_not_pushed_again(linked: Linked) -> None:
    start_engine(linked.shared)
    linked.finish_round()
    linked.aggregator.outcome = Outcome.REFUSED
    await linked.settle()

    await linked.settle()

    assert len(linked.aggregator.deltas) == 1


async def test_a_new_answer_ends_the_pause_between_transfers(linked: Linked) -> None:
    start_engine(linked.shared)
    await linked.link.beat()
    linked.link.move_soon.clear()
    await linked.link.beat()
    same_answer = linked.link.move_soon.is_set()
    linked.aggregator.reply = answer(round_=4)

    await linked.link.beat()

    assert (same_answer, linked.link.move_soon.is_set()) == (False, True)


async def test_a_heartbeat_goes_out_while_a_transfer_is_under_way(linked: Linked) -> None:
    start_engine(linked.shared)
    linked.finish_round()
    await linked.link.beat()

    await asyncio.gather(linked.link.move(), linked.link.beat())

    assert (len(linked.aggregator.beats), len(linked.aggregator.deltas)) == (2, 1)
