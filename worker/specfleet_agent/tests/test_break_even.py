from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

import pytest

from specfleet_agent.break_even import (
    FEWEST_PLAIN_STEPS,
    FEWEST_STEPS,
    SPACING_SECONDS,
    WINDOW_SECONDS,
    BreakEven,
    Window,
    break_even,
)
from specfleet_agent.engine_page import EnginePage, Moments, decode
from specfleet_agent.tests.builders import page, page_content

DEPTH = 3
MOMENTS = tuple(Moments.__dataclass_fields__)


class Engine:
    """An engine whose steps take `base`, and more for every token and every request."""

    def __init__(
        self, *, base: float, token: float = 0.0, request: float = 0.0, draft: float = 0.0
    ) -> None:
        self.base, self.token, self.request, self.draft = base, token, request, draft
        self.bands: defaultdict[int, defaultdict[str, float]]
        self.bands = defaultdict(lambda: defaultdict(float))
        self.moments: defaultdict[str, float] = defaultdict(float)
        self.verify_steps = self.output_tokens = 0

    def seconds(self, requests: int, tokens: int) -> float:
        """Return how long a step without its drafting takes."""
        return self.base + self.token * tokens + self.request * requests

    def verify(self, requests: int, *, steps: int, length: float) -> None:
        """Verify drafts, of which each step puts out `length` tokens per request."""
        tokens = requests * (1 + DEPTH)
        band = self.bands[requests.bit_length()]
        band["steps"] += steps
        band["requests"] += steps * requests
        band["tokens"] += steps * tokens
        band["verify_seconds"] += steps * self.seconds(requests, tokens)
        band["draft_seconds"] += steps * self.draft
        for _ in range(steps):
            self._add(requests, tokens)
        self.verify_steps += steps * requests
        self.output_tokens += round(steps * requests * length)

    def leave_out(self, requests: int, *, steps: int, seconds: float) -> None:
        """Do steps without drafts that take so long each."""
        band = self.bands[requests.bit_length()]
        band["plain_steps"] += steps
        band["plain_seconds"] += steps * seconds

    def read_prompts(self, *lengths: int) -> None:
        for tokens in lengths:
            self._add(1, tokens)

    def _add(self, requests: int, tokens: int) -> None:
        seconds = self.seconds(requests, tokens)
        added = {
            "steps": 1,
            "requests": requests,
            "tokens": tokens,
            "seconds": seconds,
            "requests_requests": requests * requests,
            "requests_tokens": requests * tokens,
            "tokens_tokens": tokens * tokens,
            "requests_seconds": requests * seconds,
            "tokens_seconds": tokens * seconds,
        }
        for name, value in added.items():
            self.moments[name] += value

    def page(self, incarnation: str = "a") -> EnginePage:
        drafter: dict[str, Any] = {
            "digest": "stock",
            "verify_steps": self.verify_steps,
            "drafted": [],
            "accepted": [],
            "output_tokens": self.output_tokens,
            "busy_seconds": 1.0,
        }
        return decode(
            page_content(drafters=(drafter,), incarnation=incarnation)
            | {
                "costs": {
                    "bands": [{"band": band, **one} for band, one in self.bands.items()],
                    "moments": dict.fromkeys(MOMENTS, 0) | self.moments,
                }
            }
        )


def after(engine: Engine) -> BreakEven:
    """Return what is said of all that the engine has done."""
    window = Window().plus(Engine(base=1.0).page(), now=0.0)
    return break_even(window.plus(engine.page(), now=SPACING_SECONDS))


def test_where_tokens_cost_nothing_drafts_have_to_bring_what_drafting_takes() -> None:
    engine = Engine(base=0.010, draft=0.002)
    engine.read_prompts(*range(10, 110))
    engine.verify(1, steps=FEWEST_STEPS, length=1.5)

    found = after(engine)

    assert found.bands == {1: pytest.approx(1.2)}
    assert found.speculation is not None
    assert found.speculation.break_even_length == pytest.approx(1.2)
    assert found.speculation.acceptance_length == pytest.approx(1.5)
    assert found.speculation.gain == pytest.approx(0.25)


def test_tokens_that_cost_something_have_to_be_earned_too() -> None:
    engine = Engine(base=0.010, token=0.001, request=0.002, draft=0.003)
    engine.read_prompts(*range(10, 110))
    engine.verify(1, steps=500, length=1.2)
    engine.verify(2, steps=500, length=1.2)

    found = after(engine)

    assert found.bands == {
        1: pytest.approx((0.010 + 0.004 + 0.002 + 0.003) / (0.010 + 0.001 + 0.002)),
        2: pytest.approx((0.010 + 0.008 + 0.004 + 0.003) / (0.010 + 0.002 + 0.004)),
    }
    assert found.speculation is not None
    assert found.bands[1] < found.speculation.break_even_length < found.bands[2]
    assert found.speculation.gain < 0


def test_what_tokens_cost_is_not_guessed_from_verification_alone() -> None:
    """There tokens and requests are in proportion: a lower bound is what is left."""
    engine = Engine(base=0.010, token=0.001, draft=0.007)
    engine.verify(1, steps=500, length=1.2)
    engine.verify(2, steps=500, length=1.2)

    found = after(engine)

    assert found.bands == {1: pytest.approx(1 + 7 / 14), 2: pytest.approx(1 + 7 / 18)}


def test_without_speculation_a_step_takes_no_less_than_its_share_of_tokens() -> None:
    engine = Engine(base=0.0, token=0.001)
    engine.read_prompts(*[10, 11] * 50)
    engine.moments["tokens_seconds"] *= 2
    engine.verify(1, steps=FEWEST_STEPS, length=1.2)

    assert after(engine).bands == {1: pytest.approx(1 + DEPTH)}


def test_few_steps_say_nothing() -> None:
    engine = Engine(base=0.010, draft=0.002)
    engine.verify(1, steps=FEWEST_STEPS - 1, length=1.5)

    assert after(engine) == BreakEven()


def test_only_the_newest_minutes_count() -> None:
    engine = Engine(base=0.010, draft=0.002)
    window = Window().plus(engine.page(), now=0.0)
    engine.verify(1, steps=1000, length=1.0)
    window = window.plus(engine.page(), now=SPACING_SECONDS)
    engine.verify(1, steps=1000, length=2.0)

    before = break_even(window.plus(engine.page(), now=WINDOW_SECONDS))
    later = break_even(window.plus(engine.page(), now=WINDOW_SECONDS + SPACING_SECONDS))

    assert before.speculation is not None and later.speculation is not None
    assert before.speculation.acceptance_length == pytest.approx(1.5)
    assert later.speculation.acceptance_length == pytest.approx(2.0)
    assert later.speculation.verify_steps == 1000


def test_pages_of_the_same_moment_count_once() -> None:
    window = Window().plus(Engine(base=1.0).page(), now=0.0)

    assert window.plus(Engine(base=1.0).page(), now=SPACING_SECONDS / 2) == window


def test_an_engine_that_starts_anew_starts_over() -> None:
    engine = Engine(base=0.010)
    engine.verify(1, steps=1000, length=1.0)
    window = Window().plus(engine.page(), now=0.0)

    assert len(window.plus(Engine(base=1.0).page("b"), now=1.0).counted) == 1


def test_an_older_engine_tells_no_times() -> None:
    assert Window().plus(replace(page(), costs=None), now=0.0) == Window()


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param(FEWEST_PLAIN_STEPS, 2.0, id="measured"),
        pytest.param(FEWEST_PLAIN_STEPS - 1, 1.2, id="too-few-to-measure"),
    ],
)
def test_steps_without_drafts_are_believed_rather_than_an_estimate(
    steps: int, expected: float
) -> None:
    engine = Engine(base=0.010, draft=0.002)
    engine.read_prompts(*range(10, 110))
    engine.verify(1, steps=FEWEST_STEPS, length=1.5)
    engine.leave_out(1, steps=steps, seconds=0.006)

    found = after(engine)

    assert found.bands == {1: pytest.approx(expected)}
