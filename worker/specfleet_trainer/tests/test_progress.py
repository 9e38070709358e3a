from __future__ import annotations

from dataclasses import replace

import pytest

from specfleet_common.codecs.codec import Codec
from specfleet_common.exchange import Orders
from specfleet_trainer.progress import (
    Action,
    Next,
    Progress,
    begun,
    delivered,
    is_publication_due,
    next_action,
    starts_afresh,
    trained,
)

ORDERS = Orders(
    lineage_id="lineage",
    dtype="float32",
    round=4,
    version=4,
    digest="d4",
    base_file="version-4.safetensors",
    local_steps=10,
    learning_rate=1e-3,
    depth_weights=(1.0,),
    rows_per_step=64,
    publish_every_steps=0,
)
PUSHING = replace(ORDERS, publish_every_steps=5)
PROGRESS = Progress(lineage_id="lineage", round=4, version=4, digest="d4", local_steps=3)
DONE = replace(PROGRESS, local_steps=10)
DELIVERED = replace(DONE, delta_digest="delta")


@pytest.mark.parametrize(
    ("orders", "progress", "has_data", "expected"),
    [
        pytest.param(ORDERS, None, False, Next(Action.BEGIN, "waiting"), id="first-orders"),
        pytest.param(ORDERS, PROGRESS, True, Next(Action.TRAIN, "training"), id="in-the-round"),
        pytest.param(ORDERS, PROGRESS, False, Next(Action.WAIT, "waiting"), id="no-data"),
        pytest.param(ORDERS, DONE, False, Next(Action.DELIVER, "training"), id="steps-done"),
        pytest.param(ORDERS, DELIVERED, True, Next(Action.WAIT, "delivered"), id="idle"),
        pytest.param(PUSHING, DELIVERED, True, Next(Action.TRAIN, "delivered"), id="drift"),
        pytest.param(PUSHING, DELIVERED, False, Next(Action.WAIT, "delivered"), id="no-drift"),
    ],
)
def test_next_action(
    orders: Orders, progress: Progress | None, has_data: bool, expected: Next
) -> None:
    assert next_action(orders, progress, has_data=has_data) == expected


@pytest.mark.parametrize(
    "change",
    [{"round": 5}, {"version": 5}, {"digest": "other"}, {"lineage_id": "other"}, {"attempt": 1}],
)
def test_other_orders_begin_a_round_even_before_the_delta_is_written(
    change: dict[str, object],
) -> None:
    orders = replace(ORDERS, **change)  # type: ignore[arg-type]

    assert next_action(orders, DONE, has_data=True).action is Action.BEGIN


def test_a_shorter_round_is_delivered_at_once() -> None:
    orders = replace(ORDERS, local_steps=2)

    assert next_action(orders, PROGRESS, has_data=True).action is Action.DELIVER


def test_totals_go_on_within_a_lineage_and_start_anew_in_another() -> None:
    before = trained(PROGRESS, 100)

    same = begun(replace(ORDERS, round=5, version=5), before)
    other = begun(replace(ORDERS, lineage_id="other"), before)

    assert (same.local_steps, same.round_positions) == (0, 0)
    assert (same.total_steps, same.positions) == (1, 100)
    assert (other.total_steps, other.positions) == (0, 0)


@pytest.mark.parametrize(
    ("before", "fresh", "attempt", "expected"),
    [
        pytest.param(PROGRESS, 0, 0, False, id="the-next-round"),
        pytest.param(PROGRESS, 1, 0, True, id="from-stable-again"),
        pytest.param(replace(PROGRESS, fresh=2), 2, 0, False, id="known-already"),
        pytest.param(replace(PROGRESS, fresh=2), 1, 0, True, id="whatever-the-number"),
        pytest.param(PROGRESS, 0, 1, True, id="the-delta-was-refused"),
        pytest.param(None, 1, 0, False, id="nothing-was-learned-yet"),
    ],
)
def test_what_was_learned_is_forgotten_where_it_may_have_done_damage(
    before: Progress | None, fresh: int, attempt: int, expected: bool
) -> None:
    orders = replace(ORDERS, round=5, version=5, fresh=fresh, attempt=attempt)

    assert starts_afresh(orders, before) is expected
    assert begun(orders, before).fresh == fresh


def test_a_round_that_is_under_way_is_not_begun_again_for_it() -> None:
    orders = replace(ORDERS, fresh=1)

    assert next_action(orders, PROGRESS, has_data=True).action is Action.TRAIN


def test_a_delta_counts_the_positions_of_its_round_and_no_drift() -> None:
    drifted = trained(delivered(trained(PROGRESS, 100), "delta", Codec.FLOAT32), 50)

    assert (drifted.delta_positions, drifted.round_positions) == (100, 150)


def test_local_weights_are_due_every_so_many_steps() -> None:
    due = [
        is_publication_due(replace(PROGRESS, local_steps=steps), PUSHING) for steps in range(4, 11)
    ]

    assert due == [False, True, False, False, False, False, True]
    assert not is_publication_due(PROGRESS, ORDERS)
