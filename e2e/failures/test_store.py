"""The store fails a fleet under traffic: rounds wait and say why; serving and training go on."""

from __future__ import annotations

import pytest

from e2e.failures.gateway import Trouble
from e2e.failures.story import Story

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="session")]

REQUESTS = 12
"""So many meet with the trouble before it ends."""


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        pytest.param(Trouble.DOWN, "broke", id="down", marks=pytest.mark.long),
        pytest.param(
            Trouble.FULL, "is full (XMinioStorageFull)", id="full", marks=pytest.mark.long
        ),
        pytest.param(Trouble.FOREIGN, "refuses the credentials", id="wrong-credentials"),
    ],
)
async def test_a_store_that_fails_is_told_and_waited_for(
    fleet: Story, trouble: Trouble, words: str
) -> None:
    async with fleet.surviving(trouble.value):
        with fleet.gateway.failing(trouble):
            await fleet.until(lambda: words in fleet.store_error, f"told {words!r}")
            before = fleet.history()
            await fleet.until(lambda: fleet.gateway.met >= REQUESTS, "asked again")
            after = fleet.history()
        await fleet.until(lambda: not fleet.store_error, "told that it is over")

    assert after == before


@pytest.mark.long
async def test_a_slow_store_makes_rounds_slow_and_nothing_else(fleet: Story) -> None:
    async with fleet.surviving("a slow store"):
        with fleet.gateway.failing(Trouble.SLOW):
            began = fleet.number
            await fleet.next_version()
            errors = fleet.store_error

    assert fleet.number > began
    assert errors == ""
