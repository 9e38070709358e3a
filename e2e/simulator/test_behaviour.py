"""What can be set, from where, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from e2e.simulator.behaviour import (
    Behaviour,
    BehaviourError,
    as_json,
    changed,
    read_behaviour,
    read_start_seconds,
)

DIGEST = "ab12" + 60 * "0"


def test_the_environment_sets_every_field() -> None:
    behaviour = read_behaviour(
        {
            "SIMULATOR_ACCEPTANCE": '{"stock": [0.5, 0.25]}',
            "SIMULATOR_STEP_SECONDS": "0.5",
            "SIMULATOR_MAX_REQUESTS": "3",
            "SIMULATOR_HANG": "generation",
            "SIMULATOR_MISMATCH": "true",
            "SIMULATOR_CRASH_AFTER_SECONDS": "9",
        }
    )

    assert behaviour.acceptance["stock"] == (0.5, 0.25)
    assert behaviour.acceptance["default"] == Behaviour().acceptance["default"]
    assert (behaviour.step_seconds, behaviour.max_requests) == (0.5, 3)
    assert (behaviour.hang, behaviour.crash_after_seconds) == ("generation", 9.0)
    assert behaviour.mismatch


def test_a_slow_start_is_read_from_the_environment_only() -> None:
    assert read_start_seconds({"SIMULATOR_START_SECONDS": "30"}) == 30.0
    with pytest.raises(BehaviourError, match=r"\['start_seconds'\] cannot be set, expected some"):
        changed(Behaviour(), {"start_seconds": 30})


def test_a_change_leaves_the_other_fields() -> None:
    behaviour = changed(Behaviour(error_rate=0.5), {"ttft_seconds": 1})

    assert (behaviour.error_rate, behaviour.ttft_seconds) == (0.5, 1.0)


def test_what_is_shown_can_be_set() -> None:
    behaviour = changed(
        Behaviour(), {"acceptance": {DIGEST: [0.9]}, "drafter_seconds": {DIGEST: 1.0}}
    )

    assert changed(Behaviour(), as_json(behaviour)) == behaviour


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"error_rate": 1.5}, "error_rate is 1.5, expected a number from 0 to 1"),
        ({"step_seconds": "fast"}, "step_seconds is 'fast', expected a number"),
        ({"step_seconds": True}, "step_seconds is True, expected a number"),
        ({"hang": "yes"}, "hang is 'yes', expected one of"),
        ({"max_requests": -1}, "max_requests is -1, expected a whole number or null"),
        ({"drafter_seconds": 1}, "drafter_seconds is 1, expected an object"),
        ({"drafter_seconds": {"ab": -1}}, "drafter_seconds of 'ab' is -1, expected a number"),
        ({"acceptance": []}, r"acceptance is \[\], expected an object"),
        ({"acceptance": {"stock": [0.2, 0.4]}}, "expected shares that never rise"),
        ({"acceptance": {"stock": []}}, "expected a list of shares"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_sentence(change: dict[str, Any], words: str) -> None:
    with pytest.raises(BehaviourError, match=words):
        changed(Behaviour(), change)


def test_a_slow_drafter_takes_longer_to_draft() -> None:
    behaviour = changed(Behaviour(), {"drafter_seconds": {"stock": 0.25, "ab": 1, "ab12": 2}})

    assert behaviour.drafting_seconds(name="stock", digest="ff") == 0.25
    assert behaviour.drafting_seconds(name=DIGEST, digest=DIGEST) == 2.0
    assert behaviour.drafting_seconds(name="local", digest="ff") == 0.0


def test_a_variable_that_is_not_json_is_named() -> None:
    with pytest.raises(BehaviourError, match="SIMULATOR_ERROR_RATE is 'often'"):
        read_behaviour({"SIMULATOR_ERROR_RATE": "often"})


@pytest.mark.parametrize(
    ("name", "digest", "rates"),
    [
        pytest.param("stock", "ff", (0.1,), id="stock"),
        pytest.param("local", "ff", (0.2,), id="local"),
        pytest.param(DIGEST, DIGEST, (0.4,), id="longest-beginning-of-the-digest"),
        pytest.param("local", "ab99", (0.3,), id="digest-before-name"),
        pytest.param("ff", "ff", (0.6, 0.35, 0.2), id="default"),
    ],
)
def test_the_rates_of_a_drafter(name: str, digest: str, rates: tuple[float, ...]) -> None:
    acceptance = {"stock": [0.1], "local": [0.2], "ab": [0.3], "ab12": [0.4]}

    behaviour = changed(Behaviour(), {"acceptance": acceptance})

    assert behaviour.rates(name=name, digest=digest) == rates
