"""When a new settings file is taken over, and what it changes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specfleet_aggregator.learning import InForce, take
from specfleet_aggregator.publishing import Outer
from specfleet_aggregator.round import RoundPolicy
from specfleet_common.api.testing import learning
from specfleet_common.codecs.codec import Codec
from specfleet_common.diloco.rule import Rule
from specfleet_common.wire.messages import TrainingOrders


def file(**changes: Any) -> bytes:
    return learning(**changes).to_json().encode()


def test_a_file_says_all_that_decisions_depend_on() -> None:
    settings = learning(
        generation=4,
        quorum_minimum=2,
        codec="Ternary",
        dpace=True,
        combine="TrimmedMean",
        promotion={"mode": "Manual", "minimumRounds": 3},
        decisions={"3-0123456789ab": "Abort"},
    )

    in_force = InForce(settings, error="newer ones are broken")

    policy = in_force.policy("fleet")
    assert policy.round == RoundPolicy(2, 60, 900.0)
    assert policy.orders == TrainingOrders(
        local_steps=100,
        learning_rate=1e-4,
        depth_weights=(1.0, 0.8, 0.64),
        rows_per_step=1024,
        publish_every_steps=10,
        codec=Codec.TERNARY,
        dpace=True,
    )
    assert (policy.lease_seconds, policy.heartbeat_seconds) == (120.0, 5.0)
    assert (policy.generation, policy.settings_error) == (4, "newer ones are broken")
    assert policy.promotion.settings == settings.promotion
    assert policy.promotion.settings.minimum_rounds == 3
    assert policy.promotion.aborts("3-0123456789ab")
    assert not policy.promotion.approves("4-0123456789ab")
    assert in_force.outer == Outer(Rule.TRIMMED_MEAN, 0.7, 0.9)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        pytest.param(file(generation=6, local_steps=7), "", id="newer"),
        pytest.param(file(generation=5, local_steps=7), "", id="same-generation"),
        pytest.param(
            file(generation=4, local_steps=7), "generation: is 4, expected at least 5", id="older"
        ),
        pytest.param(
            file(generation=9, local_steps=7, fleet_uid="uid-2"),
            "fleetUid: is uid-2, expected uid-1 as at the start",
            id="foreign",
        ),
        pytest.param(b"{", "document: is not JSON", id="broken"),
    ],
)
def test_only_a_file_of_this_fleet_that_is_not_older_is_taken(data: bytes, error: str) -> None:
    before = InForce(learning(generation=5))

    after = take(before, data)

    assert after.error.startswith(error)
    assert bool(after.error) is bool(error)
    assert after.settings.local_steps == (100 if error else 7)


def test_the_next_right_file_ends_the_trouble_of_a_broken_one() -> None:
    broken = take(InForce(learning()), b"{")

    mended = take(broken, file(generation=2))

    assert mended == InForce(learning(generation=2))


@given(st.lists(st.tuples(st.sampled_from(["uid-1", "uid-2"]), st.integers(0, 9)), max_size=8))
def test_generations_never_go_back_whatever_files_come(offers: list[tuple[str, int]]) -> None:
    generations, in_force = [0], InForce(learning(generation=0))

    for uid, generation in offers:
        in_force = take(in_force, file(fleet_uid=uid, generation=generation))
        generations.append(in_force.settings.generation)

    assert generations == sorted(generations)
    assert in_force.settings.fleet_uid == "uid-1"
    ours = [generation for uid, generation in offers if uid == "uid-1"]
    assert generations[-1] == max([0, *ours])
