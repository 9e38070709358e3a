from __future__ import annotations

from dataclasses import replace

import pytest

from specfleet_common.exchange import Head, Walking
from specfleet_common.judge.records import Walk
from specfleet_trainer.contest import MAX_WALKS, contenders, may_walk, next_request, record
from specfleet_trainer.progress import Action
from specfleet_trainer.tests.builders import sequence
from specfleet_trainer.walk import RequestWalk

WALKING = Walking(
    promotion="7-candidate",
    lineage_id="lineage",
    candidate=Head("candidate", "version-7.safetensors"),
    stable=Head("stable", "version-3.safetensors"),
    stock_digest="stock",
)
REQUEST = replace(sequence(seed=5, held_out=True), ring=0xABC, key=0xDEF)


def walked(*verify_steps: int) -> RequestWalk:
    return RequestWalk(
        key=REQUEST.key,
        serial=REQUEST.serial,
        complete=True,
        tokens=10,
        verify_steps=verify_steps,
        accepted=((0,),) * len(verify_steps),
    )


@pytest.mark.parametrize(
    ("action", "walked_last", "expected"),
    [
        pytest.param(Action.TRAIN, False, True, id="walks-come-before-a-step"),
        pytest.param(Action.TRAIN, True, False, id="then-a-step-is-made"),
        pytest.param(Action.WAIT, True, True, id="nothing-else-to-do"),
        pytest.param(Action.BEGIN, False, False, id="a-round-begins-at-once"),
        pytest.param(Action.DELIVER, False, False, id="others-wait-for-the-delta"),
    ],
)
def test_whose_turn_it_is(action: Action, walked_last: bool, expected: bool) -> None:
    assert may_walk(action, walked_last=walked_last) is expected


def test_the_oldest_request_that_was_not_walked_is_next() -> None:
    held_out = [replace(REQUEST, serial=serial) for serial in (3, 4, 5)]

    following = next_request(held_out, {held_out[0].id})

    assert following is held_out[1]


def test_walked_requests_are_not_walked_again() -> None:
    assert next_request([REQUEST], {REQUEST.id}) is None


def test_the_same_serial_in_the_ring_of_an_engine_that_started_again_is_another_request() -> None:
    restarted = replace(REQUEST, ring=0xABD)

    assert next_request([restarted], {REQUEST.id}) is restarted


@pytest.mark.parametrize(("known", "goes_on"), [(MAX_WALKS - 1, True), (MAX_WALKS, False)])
def test_there_is_an_end_to_the_walks_of_a_promotion(known: int, goes_on: bool) -> None:
    following = next_request([REQUEST], {str(number) for number in range(known)})

    assert (following is not None) is goes_on


def test_a_walk_is_told_with_the_steps_of_every_head() -> None:
    told = record(REQUEST, walked(4, 5, 6), WALKING, domain="")

    assert told == Walk(
        request="0000000000000abc-5",
        conversation="0000000000000def",
        domain="",
        tokens=10,
        candidate_steps=4,
        stable_steps=5,
        stock_steps=6,
    )


@pytest.mark.parametrize(
    ("walking", "digests", "steps"),
    [
        pytest.param(
            replace(WALKING, stock_digest="stable"),
            ("candidate", "stable"),
            (1, 2, 2),
            id="stable-is-stock",
        ),
        pytest.param(
            replace(WALKING, stable=WALKING.candidate),
            ("candidate", "stock"),
            (1, 1, 2),
            id="the-candidate-is-stable",
        ),
        pytest.param(
            replace(WALKING, stock_digest="candidate"),
            ("candidate", "stable"),
            (1, 2, 1),
            id="the-candidate-is-stock",
        ),
    ],
)
def test_equal_heads_walk_once(
    walking: Walking, digests: tuple[str, ...], steps: tuple[int, int, int]
) -> None:
    told = record(REQUEST, walked(*range(1, len(digests) + 1)), walking, domain="")

    assert contenders(walking) == digests
    assert (told.candidate_steps, told.stable_steps, told.stock_steps) == steps
