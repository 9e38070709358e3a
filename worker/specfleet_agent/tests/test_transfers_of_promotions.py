"""What a promotion has an agent move: notes, heads to walk, versions to compare."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specfleet_agent.situation import Files, LastStable, Serve
from specfleet_agent.tests.builders import (
    LINEAGE,
    STOCK_DIGEST,
    TRAINING,
    answer,
    holding,
    orders,
    seen,
    version,
    worker,
)
from specfleet_agent.tests.promoting import WALKING, comparison, last_stable, walk_orders
from specfleet_agent.transfers import (
    Pull,
    RememberStable,
    Remove,
    WriteOrders,
    WriteWalking,
    next_transfer,
)


@pytest.mark.parametrize(
    "noted",
    [
        pytest.param(None, id="first"),
        pytest.param(last_stable(1), id="promoted"),
        pytest.param(replace(last_stable(2), lease_seconds=5.0), id="another-lease"),
    ],
)
def test_a_stable_version_is_noted_before_anything_is_moved(noted: LastStable | None) -> None:
    reply = answer(stable=version(2), stock_wanted=True)
    files = Files(stock_digest=STOCK_DIGEST, stable=noted)

    todo = next_transfer(worker(), seen(reply, files), pushed=None)

    assert todo.transfer == RememberStable(last_stable(2))


def test_an_engine_that_never_serves_stable_notes_none() -> None:
    reply = answer(stable=version(2))

    todo = next_transfer(worker(serve=Serve.STOCK), seen(reply), pushed=None)

    assert todo.transfer is None


def test_both_arms_are_pulled() -> None:
    files = Files(versions=holding(2), stable=last_stable(2))

    todo = next_transfer(
        worker(trains=False),
        seen(answer(stable=version(2), comparison=comparison(trial=3, base=2)), files),
        pushed=None,
    )

    assert isinstance(todo.transfer, Pull)
    assert todo.transfer.version == version(3)


@pytest.mark.parametrize(
    ("versions", "transfer"),
    [
        pytest.param(
            holding(2), Pull(LINEAGE.id, version(3), replace(version(2), size_bytes=0)), id="wait"
        ),
        pytest.param(holding(2, 3), WriteWalking(WALKING), id="both-here"),
    ],
)
def test_the_trainer_is_told_to_walk_once_both_heads_are_here(
    versions: dict[int, str], transfer: Pull | WriteWalking
) -> None:
    todo = next_transfer(
        worker(serve=Serve.STOCK), seen(answer(walk=walk_orders()), Files(versions)), pushed=None
    )

    assert todo.transfer == transfer


def test_without_orders_to_walk_the_trainer_is_told_to_stop_before_the_heads_are_removed() -> None:
    who, reply = worker(serve=Serve.STOCK), answer(base=version(4))
    files = Files(holding(2, 3, 4), orders=orders(round_=3, number=4), walking=WALKING)

    first = next_transfer(who, seen(reply, files), pushed=None)
    then = next_transfer(who, seen(reply, replace(files, walking=None)), pushed=None)

    assert first.transfer == WriteWalking(None)
    assert then.transfer == Remove(("version-2.safetensors", "version-3.safetensors"))


def test_a_candidate_that_cannot_be_had_does_not_keep_the_trainer_waiting() -> None:
    reply = answer(base=version(4), walk=walk_orders(candidate=3, stable=2))

    todo = next_transfer(worker(serve=Serve.STOCK), seen(reply, Files(holding(4))), pushed=None)

    assert todo.transfer == WriteOrders(orders(number=4))


def test_versions_of_a_promotion_are_kept() -> None:
    reply = answer(
        base=version(4), stable=version(1), serve=version(3), comparison=comparison(trial=3, base=2)
    )
    files = Files(holding(0, 1, 2, 3, 4), orders=orders(round_=3, number=4), stable=last_stable(1))

    todo = next_transfer(worker(), seen(reply, files), pushed=None)

    assert todo.transfer == Remove(("version-0.safetensors",))


def test_orders_say_when_training_has_begun_again_from_stable() -> None:
    reply = replace(answer(base=version(3)), orders=replace(TRAINING, fresh=2))

    todo = next_transfer(worker(serve=Serve.STOCK), seen(reply, Files(holding(3))), pushed=None)

    assert todo.transfer == WriteOrders(replace(orders(), fresh=2))
