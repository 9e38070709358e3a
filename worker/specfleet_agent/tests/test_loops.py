from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from prometheus_client import CollectorRegistry

from specfleet_agent.instruments import Instruments
from specfleet_agent.loops import Loops, Step


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def keep_until(
    loops: Loops, step: Step, done: Callable[[], bool], wake: asyncio.Event | None = None
) -> None:
    """Run a loop until `done` holds after a step."""

    async def observed() -> float:
        try:
            return await step()
        finally:
            if done():
                finished.set()

    finished = asyncio.Event()
    task = asyncio.create_task(loops.keep("work", observed, patience_seconds=10.0, wake=wake))
    async with asyncio.timeout(5.0):
        await finished.wait()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_step_that_fails_is_counted_and_tried_again() -> None:
    registry = CollectorRegistry()
    loops = Loops(Clock(), Instruments(registry).loop_failures)
    calls: list[int] = []

    async def step() -> float:
        calls.append(1)
        if len(calls) == 1:
            raise RuntimeError("once")
        return 0.0

    await keep_until(loops, step, lambda: len(calls) == 3)

    failures = registry.get_sample_value("specfleet_agent_loop_failures_total", {"loop": "work"})
    assert failures == 1.0


async def test_a_loop_is_stalled_when_no_step_completes_within_its_patience() -> None:
    clock = Clock()
    loops = Loops(clock, Instruments(CollectorRegistry()).loop_failures)

    async def step() -> float:
        clock.now = 10.1
        raise RuntimeError("always")

    await keep_until(loops, step, lambda: True)

    assert loops.stalled() == ("work",)


async def test_a_loop_that_completes_steps_is_not_stalled() -> None:
    clock = Clock()
    loops = Loops(clock, Instruments(CollectorRegistry()).loop_failures)

    async def step() -> float:
        clock.now += 100.0
        return 0.0

    await keep_until(loops, step, lambda: True)

    assert loops.stalled() == ()


async def test_waking_ends_a_pause_early() -> None:
    loops = Loops(Clock(), Instruments(CollectorRegistry()).loop_failures)
    wake = asyncio.Event()
    calls: list[int] = []

    async def step() -> float:
        calls.append(1)
        asyncio.get_running_loop().call_soon(wake.set)
        return 3600.0

    await keep_until(loops, step, lambda: len(calls) == 3, wake)

    assert len(calls) >= 3
