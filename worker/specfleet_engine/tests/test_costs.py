from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from specfleet_engine.costs import MOST_TOKENS, PLAIN_EVERY, Costs
from specfleet_engine.step import Scheduled, Verified

DEPTH = 3


class Engine:
    """Steps that take as long as they are told to."""

    def __init__(self) -> None:
        self.now = 0.0
        self.costs = Costs()

    def step(
        self,
        requests: Sequence[str],
        *,
        verify: float,
        draft: float | None,
        rest: float = 0.0,
        prompt: int = 0,
        depth: int = DEPTH,
    ) -> None:
        """Do a step; `prompt` is how many tokens the last request reads, 0 if it has drafts."""
        drafted = np.full(len(requests), depth, np.int64)
        tokens = len(requests) * (1 + depth)
        if prompt:
            drafted[-1], tokens = 0, tokens - (1 + DEPTH) + prompt
        self.costs.step_begins(Scheduled((), (), requests, tokens), at=self.now)
        self.now += verify
        if draft is not None:
            self.costs.verified(_verified(requests, drafted), at=self.now)
            self.now += draft
            self.costs.drafted(at=self.now)
        self.now += rest
        self.costs.step_ends(at=self.now)

    def bands(self) -> list[dict[str, Any]]:
        return self.costs.snapshot()["bands"]  # type: ignore[return-value]

    def moments(self) -> Mapping[str, float]:
        return self.costs.snapshot()["moments"]  # type: ignore[return-value]


def _verified(requests: Sequence[str], drafted: np.ndarray[Any, np.dtype[np.int64]]) -> Verified:
    rows = np.arange(len(requests))
    ones = np.ones(len(requests), np.int64)
    numbers = ones.astype(np.int32)
    return Verified(requests, rows, rows, drafted, ones, numbers, rows, numbers, numbers)


def test_a_step_is_drafting_and_all_else() -> None:
    engine = Engine()

    engine.step(["a", "b"], verify=0.5, draft=0.25, rest=0.125)

    assert engine.bands() == [
        {
            "band": 2,
            "steps": 1,
            "requests": 2,
            "tokens": 8,
            "verify_seconds": 0.625,
            "draft_seconds": 0.25,
            "plain_steps": 0,
            "plain_seconds": 0.0,
        }
    ]


def test_the_time_between_two_steps_is_of_the_second_if_a_request_goes_on() -> None:
    engine = Engine()
    engine.step(["a"], verify=0.5, draft=0.25)
    engine.now += 0.125

    engine.step(["a", "b"], verify=0.5, draft=0.25)
    engine.now += 60.0
    engine.step(["c", "d"], verify=0.5, draft=0.25)

    one, two = engine.bands()
    assert one["verify_seconds"] == 0.5
    assert two["verify_seconds"] == 0.625 + 0.5


def test_a_step_without_drafts_tells_what_one_takes() -> None:
    engine = Engine()
    engine.step(["a", "b"], verify=0.5, draft=0.25)

    engine.step(["a", "b"], verify=0.375, draft=0.25, depth=0)

    (band,) = engine.bands()
    assert (band["steps"], band["verify_seconds"]) == (1, 0.5)
    assert (band["plain_steps"], band["plain_seconds"]) == (1, 0.375)


def test_a_step_that_reads_a_short_prompt_and_has_no_drafts_is_not_one_without_drafts() -> None:
    engine = Engine()

    engine.step(["new"], verify=0.5, draft=0.25, prompt=2)

    assert engine.bands() == []


def test_one_step_in_many_is_to_go_without_drafts() -> None:
    engine = Engine()

    for _ in range(PLAIN_EVERY):
        assert not engine.costs.wants_plain
        engine.step(["a"], verify=0.5, draft=0.25)
    assert engine.costs.wants_plain
    engine.step(["a", "new"], verify=0.5, draft=0.25, prompt=9)
    assert engine.costs.wants_plain, "a step with a prompt is no measurement"

    engine.step(["a", "new"], verify=0.5, draft=0.25, depth=0)

    assert not engine.costs.wants_plain


def test_a_step_that_reads_a_prompt_is_in_no_band_but_tells_what_tokens_cost() -> None:
    engine = Engine()

    engine.step(["a", "new"], verify=0.5, draft=0.25, prompt=100)

    assert engine.bands() == []
    assert engine.moments() == {
        "steps": 1,
        "requests": 2,
        "tokens": 104,
        "seconds": 0.5,
        "requests_requests": 4,
        "requests_tokens": 208,
        "tokens_tokens": 104**2,
        "requests_seconds": 1.0,
        "tokens_seconds": 52.0,
    }


@pytest.mark.parametrize(
    ("draft", "prompt"),
    [
        pytest.param(None, 100, id="without-a-draft"),
        pytest.param(0.25, MOST_TOKENS + 1, id="with-too-long-a-prompt"),
    ],
)
def test_a_step_of_another_kind_tells_nothing(draft: float | None, prompt: int) -> None:
    engine = Engine()

    engine.step(["new"], verify=0.5, draft=draft, prompt=prompt)

    assert (engine.bands(), engine.moments()["steps"]) == ([], 0)
