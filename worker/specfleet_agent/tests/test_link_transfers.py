"""What is moved between the aggregator and the volume, and how often it is tried."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from specfleet_agent.link import REFUSED_SECONDS
from specfleet_agent.situation import LastStable, Serve
from specfleet_agent.tests.builders import (
    STOCK_DIGEST,
    answer,
    digest,
    orders,
    start_engine,
    version,
    weights,
    worker,
)
from specfleet_agent.tests.linking import Linked
from specfleet_agent.tests.promoting import WALKING, last_stable, walk_orders
from specfleet_agent.volume import STABLE
from specfleet_common.exchange import ORDERS, Orders, Walking, read_message
from specfleet_common.exchange import WALKING as WALKING_FILE
from specfleet_common.wire.client import (
    Held,
    PatchUnusable,
    Refused,
    Unauthorized,
    Unreachable,
)
from specfleet_common.wire.messages import (
    Outcome,
    VersionRef,
)


@pytest.fixture
def linked(tmp_path: Path) -> Linked:
    return Linked(tmp_path, worker(serve=Serve.STOCK))


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


async def test_the_trainer_is_told_to_walk_and_to_stop(linked: Linked) -> None:
    start_engine(linked.shared)
    linked.aggregator.versions = {2: weights(2), 3: weights(3)}
    linked.aggregator.reply = answer(walk=walk_orders())
    await linked.settle()
    told = read_message(linked.state / WALKING_FILE, Walking)
    linked.aggregator.reply = answer()

    await linked.settle()

    assert told == WALKING
    assert read_message(linked.state / WALKING_FILE, Walking) is None


async def test_stable_is_noted(tmp_path: Path) -> None:
    linked = Linked(tmp_path, worker(serve=Serve.STABLE, trains=False))
    start_engine(linked.shared)
    linked.aggregator.versions = {2: weights(2)}
    linked.aggregator.reply = answer(stable=version(2))

    await linked.settle()

    assert read_message(linked.state / STABLE, LastStable) == last_stable(2)
