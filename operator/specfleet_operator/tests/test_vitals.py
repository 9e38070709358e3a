from __future__ import annotations

import pytest

from specfleet_operator.vitals import ailments


@pytest.mark.parametrize(
    ("ages", "waiting", "found"),
    [
        pytest.param({"pods": 299.0}, 299.0, (), id="all-is-well"),
        pytest.param(
            {"pods": 301.0, "services": 1.0},
            0.0,
            ("pods: not heard of for 301 s, expected at most 300 s",),
            id="a-stream-is-dead",
        ),
        pytest.param(
            {"pods": 1.0},
            400.0,
            ("a fleet waits for 400 s, expected at most 300 s",),
            id="nothing-is-worked-on",
        ),
    ],
)
def test_ailments(ages: dict[str, float], waiting: float, found: tuple[str, ...]) -> None:
    assert ailments(ages, waiting=waiting) == found
