from __future__ import annotations

import pytest

from specfleet_operator.vitals import ailments, gaps


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


def test_gaps_name_what_is_not_known_and_why() -> None:
    assert gaps(["pods"], keys_error="403: forbidden") == (
        "pods: not listed yet",
        "keys of the cluster's tokens: 403: forbidden",
    )
    assert gaps([], keys_error="") == ()
