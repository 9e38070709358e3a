"""When a delta goes out, and when it does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specfleet_agent.situation import Files, Serve
from specfleet_agent.tests.builders import (
    LINEAGE,
    OTHER_LINEAGE,
    answer,
    holding,
    orders,
    report,
    seen,
    version,
    worker,
)
from specfleet_agent.transfers import (
    Next,
    PushDelta,
    Pushed,
    WriteOrders,
    next_transfer,
)
from specfleet_common.codecs.codec import Codec
from specfleet_common.wire.messages import HeartbeatReply, Outcome

DELTA = "d" * 64
PUSH = PushDelta(LINEAGE.id, 3, 3, DELTA, 10, 600, Codec.FLOAT32)
FINISHED = Files(
    versions=holding(3),
    orders=orders(),
    report=report(delta_digest=DELTA),
    deltas=frozenset({3}),
)


def test_a_delta_goes_out_as_it_is_encoded_whatever_the_orders_say_now() -> None:
    finished = replace(report(delta_digest=DELTA), delta_codec=Codec.INT8)
    files = replace(FINISHED, report=finished)

    todo = next_transfer(
        worker(serve=Serve.STOCK), seen(answer(base=version(3)), files), pushed=None
    )

    assert todo.transfer == replace(PUSH, codec=Codec.INT8)


def test_a_finished_delta_is_pushed() -> None:
    todo = next_transfer(
        worker(serve=Serve.STOCK), seen(answer(base=version(3)), FINISHED), pushed=None
    )

    assert todo == Next(PUSH, "the trainer has finished round 3")


@pytest.mark.parametrize(
    ("reply", "files"),
    [
        pytest.param(answer(base=version(3), delta_counted=True), FINISHED, id="counted"),
        pytest.param(answer(round_=4, base=version(3)), FINISHED, id="of-another-round"),
        pytest.param(answer(base=version(4)), FINISHED, id="from-another-base"),
        pytest.param(answer(base=version(3)), replace(FINISHED, deltas=frozenset()), id="no-file"),
        pytest.param(
            answer(base=version(3)),
            replace(FINISHED, report=report(delta_digest=DELTA, lineage=OTHER_LINEAGE)),
            id="of-another-target",
        ),
        pytest.param(
            answer(base=version(3)), replace(FINISHED, report=report()), id="still-training"
        ),
        pytest.param(answer(base=version(3)), replace(FINISHED, report=None), id="no-report"),
    ],
)
def test_no_other_delta_is_pushed(reply: HeartbeatReply, files: Files) -> None:
    todo = next_transfer(worker(serve=Serve.STOCK), seen(reply, files), pushed=None)

    assert not isinstance(todo.transfer, PushDelta)


@pytest.mark.parametrize(
    ("pushed", "asked_at", "again"),
    [
        pytest.param(Pushed(DELTA, Outcome.ACCEPTED, 50.0), 49.0, False, id="the-reply-is-older"),
        pytest.param(Pushed(DELTA, Outcome.ACCEPTED, 50.0), 51.0, True, id="forgotten-by-now"),
        pytest.param(Pushed(DELTA, Outcome.STALE, 50.0), 49.0, False, id="stale-for-now"),
        pytest.param(Pushed(DELTA, Outcome.REFUSED, 50.0), 51.0, False, id="refused"),
        pytest.param(Pushed(DELTA, Outcome.FOREIGN, 50.0), 51.0, False, id="foreign"),
        pytest.param(Pushed("e" * 64, Outcome.REFUSED, 50.0), 49.0, True, id="another-delta"),
    ],
)
def test_a_delta_is_pushed_again_only_if_a_later_reply_misses_it(
    pushed: Pushed, asked_at: float, again: bool
) -> None:
    situation = seen(answer(base=version(3)), FINISHED, asked_at=asked_at)

    todo = next_transfer(worker(serve=Serve.STOCK), situation, pushed=pushed)

    assert (todo.transfer == PUSH) is again


def test_a_round_whose_delta_was_refused_is_trained_again_once_per_refusal() -> None:
    refused = Pushed(DELTA, Outcome.REFUSED, 50.0)
    first = seen(answer(base=version(3)), FINISHED)

    todo = next_transfer(worker(), first, pushed=refused)
    assert isinstance(todo.transfer, WriteOrders)
    ordered = replace(FINISHED, orders=todo.transfer.orders)
    waiting = next_transfer(worker(), seen(answer(base=version(3)), ordered), pushed=refused)
    assert ordered.report is not None
    again = replace(ordered, report=replace(ordered.report, delta_digest="", attempt=1))
    training = next_transfer(worker(), seen(answer(base=version(3)), again), pushed=refused)

    assert todo.transfer.orders == replace(orders(), attempt=1)
    assert (waiting.transfer, training.transfer) == (None, None)


def test_a_foreign_delta_is_named_in_the_reason() -> None:
    todo = next_transfer(
        worker(serve=Serve.STOCK),
        seen(answer(base=version(3)), FINISHED),
        pushed=Pushed(DELTA, Outcome.FOREIGN, 50.0),
    )

    assert todo == Next(None, "the delta of round 3 was foreign")
