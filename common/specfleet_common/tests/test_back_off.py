from __future__ import annotations

import pytest

from specfleet_common.back_off import back_off_seconds


@pytest.mark.parametrize(
    ("num_failures", "seconds"),
    [
        pytest.param(0, 0.25, id="nothing-failed-yet"),
        pytest.param(1, 0.25, id="first"),
        pytest.param(2, 0.5, id="second"),
        pytest.param(5, 4.0, id="fifth"),
        pytest.param(6, 4.0, id="never-longer-than-four-seconds"),
        pytest.param(10**6, 4.0, id="for-ever"),
    ],
)
def test_the_pause_doubles_up_to_a_limit(num_failures: int, seconds: float) -> None:
    assert back_off_seconds(num_failures) == seconds
