from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from specfleet_agent.instruments import Instruments
from specfleet_agent.observing import Observer
from specfleet_agent.outbox import Destination, Outbox
from specfleet_agent.sending import PAUSE_SECONDS, Sender
from specfleet_agent.situation import Reply
from specfleet_agent.tests.builders import LINEAGE, answer
from specfleet_agent.tests.linking import FakeAggregator
from specfleet_agent.tests.promoting import block, comparison, request, walk, walk_orders
from specfleet_agent.volume import WAITING, Volume
from specfleet_common.exchange import WALKS, WalkReport, write_message
from specfleet_common.judge.records import Walk
from specfleet_common.wire.client import Refused, Unreachable
from specfleet_common.wire.messages import HeartbeatReply

HERE = Destination(LINEAGE.id, "3-candidate")


class Sending:
    """A sender with its files, an aggregator, and a clock that the test moves."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.aggregator = FakeAggregator()
        self.registry = CollectorRegistry()
        self.now = 100.0
        self.start()

    def start(self) -> None:
        """Start the agent, or start it again: it has forgotten everything."""
        volume = Volume(self.directory, self.directory)
        self.outbox = Outbox("worker-1")
        self.observer = Observer(volume, engine_silence_seconds=1e9, clock=self.clock)
        self.sender = Sender(
            self.outbox,
            self.aggregator,
            volume,
            self.observer,
            Instruments(CollectorRegistry()),
            clock=self.clock,
        )

    def clock(self) -> float:
        return self.now

    def walked(self, *names: str) -> None:
        walks = tuple(walk(name) for name in names)
        write_message(self.directory / WALKS, WalkReport("3-candidate", LINEAGE.id, walks))

    def hear(self, reply: HeartbeatReply) -> None:
        self.observer.reply = Reply(LINEAGE.id, reply, self.now)

    def sent_walks(self) -> list[Walk]:
        return [one for evidence in self.aggregator.evidence for one in evidence.walks]


@pytest.fixture
def sending(tmp_path: Path) -> Sending:
    return Sending(tmp_path)


async def test_without_evidence_nothing_is_sent(sending: Sending) -> None:
    pause_seconds = await sending.sender.send()

    assert (pause_seconds, sending.aggregator.evidence) == (PAUSE_SECONDS, [])


async def test_evidence_is_sent_once_it_has_come(sending: Sending) -> None:
    sending.outbox.add(HERE, [block(1), request("a")])

    pauses = [await sending.sender.send() for _ in range(2)]

    (evidence,) = sending.aggregator.evidence
    assert (evidence.blocks, evidence.requests) == ((block(1),), (request("a"),))
    assert pauses == [PAUSE_SECONDS, PAUSE_SECONDS]


async def test_a_full_batch_is_followed_by_the_next_at_once(sending: Sending) -> None:
    sending.outbox.add(HERE, [request(str(number)) for number in range(2001)])

    pauses = [await sending.sender.send() for _ in range(2)]

    assert [len(evidence.requests) for evidence in sending.aggregator.evidence] == [2000, 1]
    assert pauses == [0.0, PAUSE_SECONDS]


async def test_what_could_not_be_handed_in_is_tried_again_ever_more_slowly(
    sending: Sending,
) -> None:
    sending.outbox.add(HERE, [block(1)])
    sending.aggregator.failures = [Unreachable("UNAVAILABLE: the store is down")] * 3

    pauses = [await sending.sender.send() for _ in range(4)]

    assert pauses == [0.25, 0.5, 1.0, PAUSE_SECONDS]
    assert [evidence.blocks for evidence in sending.aggregator.evidence] == [(block(1),)]


async def test_a_batch_that_is_refused_does_not_hold_up_the_next(sending: Sending) -> None:
    sending.outbox.add(HERE, [block(1)])
    sending.aggregator.failures = [Refused("INVALID_ARGUMENT: blocks.digest: is 'x'")]
    await sending.sender.send()
    sending.outbox.add(HERE, [block(2)])

    await sending.sender.send()

    assert [evidence.blocks for evidence in sending.aggregator.evidence] == [(block(2),)]


async def test_walks_are_sent_as_the_trainer_makes_them(sending: Sending) -> None:
    sending.walked("a")
    await sending.sender.send()
    sending.walked("a", "b")

    await sending.sender.send()

    assert sending.sent_walks() == [walk("a"), walk("b")]


async def test_after_a_start_all_walks_are_sent_again(sending: Sending) -> None:
    sending.walked("a")
    await sending.sender.send()
    sending.start()

    await sending.sender.send()

    assert sending.sent_walks() == [walk("a"), walk("a")]


async def test_what_could_not_be_handed_in_outlives_the_agent(sending: Sending) -> None:
    sending.outbox.add(HERE, [block(1), request("a")])
    sending.aggregator.failures = [Unreachable("UNAVAILABLE: the store is down")]
    await sending.sender.send()
    sending.start()

    await sending.sender.send()

    (evidence,) = sending.aggregator.evidence
    assert (evidence.blocks, evidence.requests) == ((block(1),), (request("a"),))


async def test_what_waits_when_the_agent_is_told_to_stop_outlives_it(sending: Sending) -> None:
    sending.outbox.add(HERE, [block(1)])
    await sending.sender.keep()
    sending.start()

    await sending.sender.send()

    assert [evidence.blocks for evidence in sending.aggregator.evidence] == [(block(1),)]


async def test_what_has_been_handed_in_is_not_kept(sending: Sending) -> None:
    sending.outbox.add(HERE, [block(1)])
    sending.aggregator.failures = [Unreachable("UNAVAILABLE: the store is down")]
    for _ in range(3):
        await sending.sender.send()
    sending.start()

    await sending.sender.send()

    assert len(sending.aggregator.evidence) == 1
    assert not (sending.directory / WAITING).exists()


@pytest.mark.parametrize("content", ["", "{}", '[{"worker_id": "worker-1"}]'])
def test_kept_evidence_that_cannot_be_read_counts_as_none(sending: Sending, content: str) -> None:
    (sending.directory / WAITING).write_text(content)

    sending.start()

    assert len(sending.outbox) == 0


async def test_why_there_are_no_more_walks_is_said_once(
    sending: Sending, capsys: pytest.CaptureFixture[str]
) -> None:
    report = WalkReport("3-candidate", LINEAGE.id, (), problem="the candidate has no norm.weight")
    write_message(sending.directory / WALKS, report)

    for _ in range(2):
        await sending.sender.send()

    assert capsys.readouterr().out.count("the candidate has no norm.weight") == 1


async def test_an_unreadable_report_of_walks_counts_as_none(sending: Sending) -> None:
    (sending.directory / WALKS).write_text("{}")

    await sending.sender.send()

    assert sending.aggregator.evidence == []


async def test_nothing_more_is_sent_for_a_set_that_is_closed(sending: Sending) -> None:
    sending.aggregator.closed = {"3-candidate"}
    sending.walked("a")
    sending.outbox.add(HERE, [block(1)])
    await sending.sender.send()
    sending.aggregator.closed = set()
    sending.outbox.add(HERE, [block(2)])

    await sending.sender.send()

    assert sending.aggregator.evidence == []


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(answer(comparison=comparison()), id="to-compare"),
        pytest.param(answer(walk=walk_orders()), id="to-walk"),
    ],
)
async def test_a_set_that_a_later_heartbeat_names_was_not_closed_for_good(
    sending: Sending, reply: HeartbeatReply
) -> None:
    sending.aggregator.closed = {"3-candidate"}
    sending.walked("a")
    sending.hear(reply)
    await sending.sender.send()
    sending.aggregator.closed = set()
    await sending.sender.send()
    before = sending.sent_walks()
    sending.now = 101.0
    sending.hear(replace(reply))

    await sending.sender.send()

    assert (before, sending.sent_walks()) == ([], [walk("a")])


async def test_what_became_of_records_is_counted(sending: Sending) -> None:
    registry = CollectorRegistry()
    sender = Sender(
        sending.outbox,
        sending.aggregator,
        Volume(sending.directory, sending.directory),
        sending.observer,
        Instruments(registry),
        clock=sending.clock,
    )
    sending.aggregator.failures = [Unreachable("UNAVAILABLE")]
    sending.outbox.add(HERE, [block(1), request("a"), request("b")])

    for _ in range(2):
        await sender.send()

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"specfleet_agent_{name}_total", labels)

    assert value("evidence", kind="block", result="stored") == 1.0
    assert value("evidence", kind="request", result="stored") == 2.0
    assert value("evidence_calls", result="unreachable") == 1.0
    assert value("evidence_calls", result="ok") == 1.0
