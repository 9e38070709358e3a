"""What was just applied in vain is applied again ever more seldom, and what is new at once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from specfleet_operator.comparing import stamped
from specfleet_operator.pacing import FORGET_SECONDS, LAST_PAUSE_SECONDS, Pace, applying
from specfleet_operator.store import FleetKey
from specfleet_operator.tests.clocks import Clock
from specfleet_operator.tests.objects import config

KEY = FleetKey("ns", "f")
STEP = applying(stamped(config("a", namespace="ns", x="1")))


def test_what_was_never_applied_need_not_wait() -> None:
    assert Pace(Clock()).wait_seconds(KEY, STEP) == 0.0


def test_the_same_again_waits_ever_longer() -> None:
    clock = Clock()
    pace = Pace(clock)

    waits = []
    for _ in range(12):
        pace.tried(KEY, STEP)
        waits.append(pace.wait_seconds(KEY, STEP))
        clock.now += waits[-1]

    assert waits[:3] == [0.25, 0.5, 1.0]
    assert waits[-1] == LAST_PAUSE_SECONDS


def test_what_is_wanted_anew_is_applied_at_once() -> None:
    pace = Pace(Clock())
    pace.tried(KEY, STEP)

    assert pace.wait_seconds(KEY, applying(stamped(config("a", namespace="ns", x="2")))) == 0.0


def test_after_a_long_peace_the_first_repair_is_a_first_one() -> None:
    clock = Clock()
    pace = Pace(clock)
    for _ in range(8):
        pace.tried(KEY, STEP)

    clock.now += FORGET_SECONDS + 1.0
    pace.tried(KEY, STEP)

    assert pace.wait_seconds(KEY, STEP) == 0.25


def test_a_fleet_that_is_made_again_does_not_wait_for_the_one_before_it() -> None:
    pace = Pace(Clock())
    pace.tried(KEY, STEP)

    pace.forget(KEY)

    assert pace.wait_seconds(KEY, STEP) == 0.0


@given(st.lists(st.floats(0.0, 100.0), max_size=100))
def test_however_often_a_pass_is_made_writes_stay_few(pauses: list[float]) -> None:
    clock = Clock()
    pace, num_writes = Pace(clock), 0

    for pause in pauses:
        clock.now += min(pause, 0.05)
        if pace.wait_seconds(KEY, STEP) == 0.0:
            pace.tried(KEY, STEP)
            num_writes += 1

    # 100 passes in 5 seconds: at 0, 0.25, 0.75, 1.75 and 3.75 s.
    assert num_writes <= 5
