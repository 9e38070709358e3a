"""What happens after a process ended by itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specfleet_cli.restarts import GiveUp, Lives, Restart, became_ready, ended, next_step, started


@pytest.mark.parametrize(
    ("failures", "pause"),
    [
        pytest.param(0, 0.25, id="it-was-ready"),
        pytest.param(1, 0.25, id="first"),
        pytest.param(2, 0.5, id="second"),
        pytest.param(5, 4.0, id="fifth"),
        pytest.param(50, 8.0, id="the-pause-stops-growing"),
    ],
)
def test_what_was_once_ready_is_started_again_after_a_growing_pause(
    failures: int, pause: float
) -> None:
    step = next_step(Lives(starts=60, was_ever_ready=True, failures=failures))

    assert step == Restart(pause)


def test_what_was_never_ready_is_given_up_after_three_starts() -> None:
    lives = Lives()
    for _ in range(3):
        lives = ended(started(lives))

    assert next_step(lives) == GiveUp("ended 3 times and was never ready")


@given(st.lists(st.booleans(), min_size=1))
def test_having_been_ready_once_is_never_forgotten(history: list[bool]) -> None:
    lives = Lives()
    for was_ready in history:
        lives = started(lives)
        lives = ended(became_ready(lives) if was_ready else lives)

    gave_up = isinstance(next_step(lives), GiveUp)

    assert gave_up == (not any(history) and len(history) >= 3)
