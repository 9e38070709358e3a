"""Clocks of all processes of a fleet jump: leases and rounds go by time that never does."""

from __future__ import annotations

import time

import pytest

from e2e.failures.story import Story

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.asyncio(loop_scope="session")]

MINUTES, DAYS = 60, 86_400


@pytest.mark.parametrize("seconds", [-10 * MINUTES, 10 * MINUTES])
async def test_a_clock_that_jumps_by_minutes_changes_nothing(fleet: Story, seconds: int) -> None:
    async with fleet.surviving(f"clocks {seconds} s off"):
        with fleet.clocks.shifted(seconds):
            # The one that is being made may have the time from before.
            await fleet.next_version(more=2)
            live = fleet.state.live_workers
            made_at = fleet.history().newest.created_at

    assert live == len(fleet.fleet.workers)
    assert made_at == pytest.approx(time.time() + seconds, abs=5 * MINUTES)


@pytest.mark.parametrize("days", [-400, 1])
async def test_a_bucket_refuses_a_clock_that_is_days_off_and_leases_go_on(
    fleet: Story, days: int
) -> None:
    async with fleet.surviving(f"clocks {days} days off"):
        with fleet.clocks.shifted(days * DAYS):
            await fleet.until(lambda: "clock is wrong" in fleet.store_error, "told of the clock")
            live = fleet.state.live_workers
        await fleet.until(lambda: not fleet.store_error, "told that it is over")

    assert live == len(fleet.fleet.workers)
