from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specfleet_common.codecs import deltas
from specfleet_common.codecs.codec import Codec
from specfleet_trainer.heads import Array
from specfleet_trainer.progress import Progress
from specfleet_trainer.residual import Residual, after_delivery, at_beginning, compensated
from specfleet_trainer.tests.test_progress import ORDERS

DELIVERED = Progress(lineage_id="lineage", round=3, version=3, digest="d3", delta_digest="delta")
OWED = Residual(kept={"w": np.ones(2, np.float32)}, pending={"w": np.full(2, 2, np.float32)})


def drawn(seed: int) -> dict[str, Array]:
    return {"w": np.random.default_rng(seed).standard_normal(200).astype(np.float32)}


def same(one: Residual, other: Residual) -> bool:
    pairs = ((one.kept, other.kept), (one.pending, other.pending))
    return all(
        a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)
        for a, b in pairs
    )


@pytest.mark.parametrize(
    ("before", "counted_version", "attempt", "expected"),
    [
        pytest.param(DELIVERED, 4, 0, Residual(OWED.pending), id="it-counted"),
        pytest.param(DELIVERED, 3, 0, Residual(OWED.kept), id="the-one-before-counted"),
        pytest.param(DELIVERED, 0, 0, Residual(OWED.kept), id="stale-or-never-sent"),
        pytest.param(DELIVERED, 4, 1, Residual(), id="refused"),
        pytest.param(
            replace(DELIVERED, delta_digest=""), 4, 0, Residual(OWED.kept), id="not-delivered"
        ),
        pytest.param(None, 4, 0, Residual(OWED.kept), id="no-progress"),
    ],
)
def test_what_is_owed_when_a_round_begins(
    before: Progress | None, counted_version: int, attempt: int, expected: Residual
) -> None:
    orders = replace(ORDERS, counted_version=counted_version, attempt=attempt)

    assert same(at_beginning(OWED, before, orders), expected)


def test_nothing_is_owed_when_training_starts_from_stable_again() -> None:
    orders = replace(ORDERS, counted_version=4, fresh=1)

    assert same(at_beginning(OWED, DELIVERED, orders), Residual())


def test_a_round_that_is_missed_does_not_change_whether_the_last_delta_counted() -> None:
    orders = replace(ORDERS, round=9, version=9, counted_version=4)

    assert same(at_beginning(OWED, DELIVERED, orders), Residual(OWED.pending))


def test_a_codec_without_feedback_pays_what_is_owed_and_owes_nothing() -> None:
    delta = drawn(1)
    wanted = compensated(delta, Residual({"w": np.ones(200, np.float32)}))

    after = after_delivery(OWED, wanted, deltas.encode(wanted, Codec.INT8), Codec.INT8)

    np.testing.assert_array_equal(wanted["w"], delta["w"] + 1)
    assert not after.pending


@given(st.lists(st.sampled_from(["counted", "stale", "refused"]), max_size=12))
@settings(deadline=None, max_examples=50)
def test_what_counted_and_what_is_owed_is_all_that_was_learned_since_the_last_refusal(
    fates: list[str],
) -> None:
    residual = Residual()
    learned, sent = np.zeros(200), np.zeros(200)
    for round_, fate in enumerate(fates):
        delta = drawn(round_)
        wanted = compensated(delta, residual)
        data = deltas.encode(wanted, Codec.TERNARY)
        residual = after_delivery(residual, wanted, data, Codec.TERNARY)
        decoded = deltas.open_delta(data, Codec.TERNARY, shapes={"w": (200,)})
        if fate == "counted":
            learned += delta["w"]
            sent += np.concatenate(list(decoded.blocks("w")))
        if fate == "refused":
            learned, sent = np.zeros(200), np.zeros(200)
        residual = at_beginning(
            residual,
            replace(DELIVERED, round=round_),
            replace(
                ORDERS,
                attempt=int(fate == "refused"),
                counted_version=round_ + 1 if fate == "counted" else 0,
            ),
        )

    owed = residual.kept.get("w", np.zeros(200))
    np.testing.assert_allclose(sent + owed, learned, atol=1e-4)
