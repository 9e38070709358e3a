from __future__ import annotations

import pytest

from specfleet_operator.retrying import pause_seconds


@pytest.mark.parametrize(
    ("status", "num_attempts", "retry_after", "left_seconds", "pause"),
    [
        pytest.param(None, 1, None, 15.0, 0.25, id="no-answer"),
        pytest.param(503, 2, None, 15.0, 0.5, id="busy-again"),
        pytest.param(429, 1, "3", 15.0, 3.0, id="as-long-as-the-server-asks"),
        pytest.param(429, 1, "30", 15.0, None, id="the-server-asks-for-too-long"),
        pytest.param(503, 4, None, 15.0, None, id="often-enough"),
        pytest.param(500, 1, None, 0.0, None, id="no-time-left"),
        pytest.param(422, 1, None, 15.0, None, id="wrong-stays-wrong"),
        pytest.param(409, 1, None, 15.0, None, id="a-conflict-is-for-the-caller"),
        pytest.param(401, 1, None, 15.0, None, id="who-we-are-does-not-change-so-soon"),
    ],
)
def test_pause_seconds(
    status: int | None,
    num_attempts: int,
    retry_after: str | None,
    left_seconds: float,
    pause: float | None,
) -> None:
    found = pause_seconds(
        status, num_attempts=num_attempts, retry_after=retry_after, left_seconds=left_seconds
    )

    assert found == pause
