from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specfleet_agent.situation import Files, LastStable, Serve, Situation
from specfleet_agent.tests.builders import (
    LINEAGE,
    OTHER_LINEAGE,
    STOCK_DIGEST,
    TRAINING,
    answer,
    digest,
    holding,
    orders,
    page,
    report,
    seen,
    version,
    worker,
)
from specfleet_agent.tests.promoting import comparison, last_stable, walk_orders
from specfleet_agent.transfers import (
    Next,
    Pull,
    PushDelta,
    Pushed,
    PutStock,
    RememberStable,
    Remove,
    WriteOrders,
    WriteWalking,
    next_transfer,
)
from specfleet_common.codecs.codec import Codec
from specfleet_common.exchange import Orders, TrainerReport
from specfleet_common.wire.messages import Comparison, Outcome, VersionRef, WalkOrders

DELTA = "d" * 64


def test_without_an_engine_nothing_moves() -> None:
    todo = next_transfer(worker(), Situation(), pushed=None)

    assert todo == Next(None, "there is no engine yet")


def test_without_an_answer_nothing_moves() -> None:
    todo = next_transfer(worker(), seen(None), pushed=None)

    assert todo == Next(None, "the aggregator has not answered yet")


def test_an_answer_about_an_earlier_target_moves_nothing() -> None:
    todo = next_transfer(
        worker(), seen(answer(base=version(3)), lineage=OTHER_LINEAGE), pushed=None
    )

    assert todo.transfer is None


def test_stock_is_handed_in_when_wanted() -> None:
    todo = next_transfer(
        worker(), seen(answer(stock_wanted=True), Files(stock_digest=STOCK_DIGEST)), pushed=None
    )

    assert todo.transfer == PutStock(LINEAGE, STOCK_DIGEST, "stock.safetensors")


@pytest.mark.parametrize(
    ("stock_digest", "reason"),
    [
        pytest.param(
            None,
            "stock.safetensors is wanted, but the engine has not written it yet",
            id="absent",
        ),
        pytest.param(
            "b" * 64,
            f"stock.safetensors is wanted, but its digest is bbbbbbbb, expected {STOCK_DIGEST[:8]}:"
            " it is not handed in",
            id="corrupt",
        ),
        pytest.param(
            "",
            "stock.safetensors is wanted, but its digest is none, it is not safetensors, expected "
            f"{STOCK_DIGEST[:8]}: it is not handed in",
            id="not-safetensors",
        ),
    ],
)
def test_stock_that_is_not_the_engines_is_never_handed_in(
    stock_digest: str | None, reason: str
) -> None:
    todo = next_transfer(
        worker(), seen(answer(stock_wanted=True), Files(stock_digest=stock_digest)), pushed=None
    )

    assert todo == Next(None, reason)


@pytest.mark.parametrize(
    ("serve", "trains", "versions", "pulled"),
    [
        pytest.param(Serve.STOCK, True, {}, version(3), id="to-train-from"),
        pytest.param(Serve.LOCAL, False, {}, version(3), id="to-serve-the-newest"),
        pytest.param(Serve.STABLE, False, {}, version(2), id="to-serve-stable"),
        pytest.param(Serve.STABLE, True, holding(3), version(2), id="stable-after-base"),
        pytest.param(Serve.STOCK, False, {}, None, id="a-control-engine-needs-none"),
        pytest.param(Serve.STOCK, True, {3: "b" * 64}, version(3), id="corrupt-on-the-volume"),
        pytest.param(Serve.STOCK, True, {3: ""}, version(3), id="not-safetensors-on-the-volume"),
    ],
)
def test_a_version_is_pulled_when_it_is_needed_and_not_here(
    serve: Serve, trains: bool, versions: dict[int, str], pulled: VersionRef | None
) -> None:
    reply = answer(base=version(3), stable=version(2))

    files = Files(versions=versions, orders=orders(), stable=last_stable(2))

    todo = next_transfer(worker(serve=serve, trains=trains), seen(reply, files), pushed=None)

    transfer = todo.transfer
    assert (transfer.version if isinstance(transfer, Pull) else transfer) == pulled


def test_orders_carry_the_codec_and_which_delta_has_counted() -> None:
    reply = replace(
        answer(base=version(3)),
        orders=replace(TRAINING, codec=Codec.TERNARY),
        counted_version=3,
    )

    todo = next_transfer(worker(serve=Serve.STOCK), seen(reply, Files(holding(3))), pushed=None)

    expected = replace(orders(), codec=Codec.TERNARY, counted_version=3)
    assert todo.transfer == WriteOrders(expected)


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(None, id="no-orders"),
        pytest.param(orders(round_=2, number=2), id="of-the-last-round"),
        pytest.param(orders(lineage=OTHER_LINEAGE), id="of-another-target"),
    ],
)
def test_orders_follow_the_answer_once_the_version_is_here(before: Orders | None) -> None:
    files = Files(versions=holding(3), orders=before)

    todo = next_transfer(
        worker(serve=Serve.STOCK), seen(answer(base=version(3)), files), pushed=None
    )

    assert todo.transfer == WriteOrders(orders())


def test_changed_settings_reach_the_trainer_within_the_round() -> None:
    files = Files(versions=holding(3), orders=replace(orders(), learning_rate=1.0))

    todo = next_transfer(
        worker(serve=Serve.STOCK), seen(answer(base=version(3)), files), pushed=None
    )

    assert todo == Next(WriteOrders(orders()), "round 3 starts from 3")


def test_an_engine_that_does_not_train_gets_no_orders() -> None:
    files = Files(versions=holding(3))

    todo = next_transfer(
        worker(serve=Serve.LOCAL, trains=False), seen(answer(base=version(3)), files), pushed=None
    )

    assert todo == Next(None, "in round 3 from version 3")


def test_files_of_earlier_rounds_are_removed_and_stable_is_kept() -> None:
    files = Files(
        versions=holding(1, 2, 3),
        orders=orders(),
        deltas=frozenset({1, 2, 3}),
        stable=last_stable(1),
    )

    todo = next_transfer(
        worker(), seen(answer(base=version(3), stable=version(1)), files), pushed=None
    )

    assert todo.transfer == Remove(("version-2.safetensors", "delta-1.bin", "delta-2.bin"))


def test_an_aggregator_without_a_version_makes_nothing_disappear() -> None:
    files = Files(versions=holding(3), orders=orders(), deltas=frozenset({2}))

    todo = next_transfer(worker(), seen(answer(), files), pushed=None)

    assert todo == Next(None, "the aggregator has no version yet")


def carry_out(
    todo: Next, before: Situation, pushed: Pushed | None
) -> tuple[Situation, Pushed | None]:
    """Return what is seen after a transfer succeeded and the next heartbeat was answered."""
    files, reply = before.files, before.reply
    assert reply is not None
    match todo.transfer:
        case PutStock():
            reply = replace(
                reply, message=replace(reply.message, stock_wanted=False, base=version(0))
            )
        case PushDelta(digest=content):
            pushed = Pushed(content, Outcome.ACCEPTED, reply.asked_at)
            reply = replace(reply, message=replace(reply.message, delta_counted=True))
        case Pull(version=wanted):
            files = replace(files, versions={**files.versions, wanted.number: wanted.digest})
        case WriteOrders(orders=new):
            files = replace(files, orders=new)
        case WriteWalking(walking=walking):
            files = replace(files, walking=walking)
        case RememberStable(stable=stable):
            files = replace(files, stable=stable)
        case Remove(files=names):
            keep = {
                n: d for n, d in files.versions.items() if f"version-{n}.safetensors" not in names
            }
            deltas = frozenset(n for n in files.deltas if f"delta-{n}.bin" not in names)
            files = replace(files, versions=keep, deltas=deltas)
    return replace(before, files=files, reply=reply), pushed


numbers = st.integers(0, 4)


@given(
    serve=st.sampled_from(list(Serve)),
    trains=st.booleans(),
    base=st.none() | numbers.map(version),
    stable=st.none() | numbers.map(version),
    stock_wanted=st.booleans(),
    on_volume=st.dictionaries(numbers, numbers.map(digest) | st.just("")),
    stock_digest=st.sampled_from([None, "", STOCK_DIGEST, "b" * 64]),
    before=st.none() | st.builds(orders, round_=numbers, number=numbers),
    said=st.none() | st.builds(report, round_=numbers, number=numbers, delta_digest=st.just(DELTA)),
    deltas=st.frozensets(numbers),
    serve_in_place=st.none() | numbers.map(version),
    compared=st.none() | st.builds(comparison, trial=numbers, base=numbers),
    walked=st.none() | st.builds(walk_orders, candidate=numbers, stable=numbers),
    noted=st.none() | numbers.map(last_stable),
)
def test_carried_out_transfers_leave_nothing_to_do(
    serve: Serve,
    trains: bool,
    base: VersionRef | None,
    stable: VersionRef | None,
    stock_wanted: bool,
    on_volume: dict[int, str],
    stock_digest: str | None,
    before: Orders | None,
    said: TrainerReport | None,
    deltas: frozenset[int],
    serve_in_place: VersionRef | None,
    compared: Comparison | None,
    walked: WalkOrders | None,
    noted: LastStable | None,
) -> None:
    who = worker(serve=serve, trains=trains)
    files = Files(on_volume, before, said, stock_digest, deltas, noted)
    reply = answer(
        base=base,
        stable=stable,
        stock_wanted=stock_wanted,
        serve=serve_in_place,
        comparison=compared,
        walk=walked,
    )
    situation = seen(reply, files, engine=page())
    pushed: Pushed | None = None

    for _ in range(14):
        todo = next_transfer(who, situation, pushed=pushed)
        if todo.transfer is None:
            break
        situation, pushed = carry_out(todo, situation, pushed)

    assert todo.transfer is None
