"""What the break-even audit calls a problem."""

from __future__ import annotations

import pytest

from e2e.audits.break_even import Size, problems


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        pytest.param(1.45, [], id="nearly"),
        pytest.param(
            1.2,
            ["4 clients: break-even was told to be 1.20, expected 1.50 within 15 %"],
            id="too-low",
        ),
        pytest.param(None, ["4 clients: no break-even was told"], id="nothing"),
    ],
)
def test_break_even_is_held_to_the_engine_without_speculation(
    told: float | None, expected: list[str]
) -> None:
    size = Size(clients=4, plain=200, speculating=160, acceptance_length=1.2, told=told)

    assert problems([size], margin=0.15) == expected
