"""When heartbeats go out, and what becomes of their answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from specfleet_agent.link import POLL_SECONDS
from specfleet_agent.situation import Serve
from specfleet_agent.tests.builders import (
    answer,
    start_engine,
    worker,
)
from specfleet_agent.tests.linking import Linked
from specfleet_agent.tests.promoting import comparison
from specfleet_common.shm.names import page_file
from specfleet_common.shm.pages import PageWriter
from specfleet_common.wire.client import (
    Refused,
    Unreachable,
)


@pytest.fixture
def linked(tmp_path: Path) -> Linked:
    return Linked(tmp_path, worker(serve=Serve.STOCK))


async def test_without_an_engine_there_is_no_heartbeat(linked: Linked) -> None:
    pause_seconds = await linked.link.beat()

    assert (pause_seconds, linked.aggregator.beats) == (POLL_SECONDS, [])


async def test_an_engine_that_cannot_be_adapted_is_reported(linked: Linked) -> None:
    page = PageWriter.create(linked.shared / page_file(0))
    page.write({"adapting": False, "reason": "OSError: no room"})
    linked.aggregator.reply = answer(heartbeat_seconds=7.0)

    pause_seconds = await linked.link.beat()

    assert [beat.engine_problem for beat in linked.aggregator.beats] == ["OSError: no room"]
    assert (pause_seconds, linked.link.connected) == (7.0, True)


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


async def test_a_comparison_keeps_its_beginning_from_answer_to_answer(linked: Linked) -> None:
    start_engine(linked.shared)
    began = []
    for elapsed_seconds in (10.0, 13.9):
        linked.aggregator.reply = answer(comparison=comparison(elapsed_seconds=elapsed_seconds))
        linked.now = 100.0 + elapsed_seconds
        await linked.link.beat()
        reply = linked.observer.reply
        assert reply is not None and reply.anchor is not None
        began.append(reply.anchor.began)

    assert began[0] == began[1]
    assert abs(began[0] - 100.0) < 10.0


async def test_a_comparison_that_only_goes_on_does_not_hasten_transfers(linked: Linked) -> None:
    start_engine(linked.shared)
    linked.aggregator.reply = answer(comparison=comparison(elapsed_seconds=1.0))
    await linked.link.beat()
    linked.link.move_soon.clear()
    linked.aggregator.reply = answer(comparison=comparison(elapsed_seconds=2.0))

    await linked.link.beat()

    assert not linked.link.move_soon.is_set()
