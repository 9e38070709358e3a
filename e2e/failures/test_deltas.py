"""Somebody hands in deltas that would do harm, while a fleet learns under traffic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from e2e.failures.asking import sample
from e2e.failures.deltas import (
    INTRUDER,
    Delta,
    delta,
    enormous,
    foreign,
    of_round_before,
    push,
    reshaped,
    with_nan,
    with_other_bytes,
    zeros,
)
from e2e.failures.story import Story
from specfleet_common.tensors import Array
from specfleet_common.wire.messages import DeltaReply, Outcome

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="session")]

TRIES = 20
"""A round may close while a delta is made for it."""

Make = Callable[[Mapping[str, Array]], dict[str, Array]]
Change = Callable[[Delta], Delta]


async def hand_in(fleet: Story, folder: Path, make: Make, change: Change) -> DeltaReply:
    """Hand in a delta for the round that is open when it arrives."""
    address, token_file = fleet.fleet.aggregator_address, Path(fleet.fleet.token_file)
    for _ in range(TRIES):
        one = change(delta(make(fleet.weights()), fleet.state))
        reply = await push(one, address, token_file=token_file, folder=folder)
        if reply.outcome is not Outcome.STALE or change is of_round_before:
            return reply
        await fleet.next_version()
    raise AssertionError(f"a round closed before every one of {TRIES} deltas: {reply.reason}")


def unchanged(one: Delta) -> Delta:
    return one


@pytest.mark.parametrize(
    ("make", "change", "outcome", "words"),
    [
        pytest.param(with_nan, unchanged, Outcome.REFUSED, "not finite", id="nan"),
        pytest.param(reshaped, unchanged, Outcome.REFUSED, "shape", id="wrong-shape"),
        pytest.param(enormous, unchanged, Outcome.REFUSED, "norm is", id="1000x-norm"),
        pytest.param(zeros, with_other_bytes, Outcome.REFUSED, "digest is", id="flipped-bit"),
        pytest.param(zeros, foreign, Outcome.FOREIGN, "", id="foreign-lineage"),
        pytest.param(zeros, of_round_before, Outcome.STALE, "is open", id="late"),
    ],
)
async def test_a_harmful_delta_counts_for_nothing(
    fleet: Story, tmp_path: Path, make: Make, change: Change, outcome: Outcome, words: str
) -> None:
    counter = f'specfleet_aggregator_deltas_total{{outcome="{outcome}"}}'
    before = sample(fleet.now().aggregator, counter)

    async with fleet.surviving("a harmful delta"):
        reply = await hand_in(fleet, tmp_path, make, change)

    counted = sample(fleet.now().aggregator, counter)
    assert (reply.outcome, words in reply.reason) == (outcome, True), reply
    assert before is not None
    assert counted is not None
    assert counted > before
    assert not any(INTRUDER in one.workers for one in fleet.history().versions.values())
    if outcome is Outcome.REFUSED:
        log = fleet.log("aggregator").splitlines()
        assert any(INTRUDER in line and words in line for line in log), "nobody is named"


async def test_a_delta_that_is_handed_in_twice_counts_once(fleet: Story, tmp_path: Path) -> None:
    async with fleet.surviving("a delta again"):
        first = await hand_in(fleet, tmp_path, zeros, unchanged)
        again = await hand_in(fleet, tmp_path, zeros, of_round_before)

    made = [one.workers.count(INTRUDER) for one in fleet.history().versions.values()]
    assert first.outcome is Outcome.ACCEPTED
    assert again.outcome in (Outcome.STALE, Outcome.DUPLICATE)
    assert sorted(set(made)) == [0, 1]
    assert made.count(1) == 1
