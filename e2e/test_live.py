"""The time that is left shrinks, whatever a stage really takes."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from e2e.live import LINE_EVERY_SECONDS, Picture, Stage, View, progress

STAGES = [Stage("start", 60), Stage("run", 240), Stage("report", 100)]


@pytest.mark.parametrize(
    ("current", "elapsed", "share", "left"),
    [
        pytest.param(0, 0, 0.0, 400, id="begun"),
        pytest.param(1, 120, 180 / 400, 220, id="in-the-middle"),
        pytest.param(1, 9999, 288 / 400, 112, id="longer-than-expected"),
    ],
)
def test_progress_by_expected_times(
    current: int, elapsed: float, share: float, left: float
) -> None:
    assert progress(STAGES, current, elapsed) == pytest.approx((share, left))


@given(st.integers(0, 2), st.floats(0, 1e6))
def test_there_is_always_something_left(current: int, elapsed: float) -> None:
    share, left = progress(STAGES, current, elapsed)

    assert 0 <= share < 1
    assert left > 0


def test_lines_come_now_and_then_where_there_is_no_terminal() -> None:
    now = 0.0
    output = io.StringIO()
    picture = Picture("round 1", ("engine", "tok/s"), (("push-0", "80"),))
    with View(Console(file=output, width=200), STAGES, clock=lambda: now) as view:
        view.begin("run")
        view.show(picture)
        now = LINE_EVERY_SECONDS
        view.show(picture)
        view.show(picture)

    assert output.getvalue().splitlines() == [
        "[0:00] run",
        "[0:15] round 1 (19 % done, about 5:25 left)",
        "[0:15]   push-0: tok/s 80",
    ]
