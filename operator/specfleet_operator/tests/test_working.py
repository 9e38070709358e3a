"""One task per fleet: changes are coalesced, failures are tried again, nothing stops the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from prometheus_client import CollectorRegistry

from specfleet_operator.api import Conflict, Unreachable
from specfleet_operator.store import FleetKey
from specfleet_operator.telemetry import Instruments
from specfleet_operator.tests.waiting import until
from specfleet_operator.working import Work

A, B = FleetKey("ns", "a"), FleetKey("ns", "b")


class Passes:
    """Counts passes and lets the test decide how each of them ends."""

    def __init__(self) -> None:
        self.begun: list[FleetKey] = []
        self.told: list[tuple[FleetKey, str]] = []
        self.errors: list[Exception] = []
        self.again: float | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self.registry = CollectorRegistry()
        self.work = Work(
            self._pass,
            failed=self._tell,
            instruments=Instruments(self.registry),
            clock=asyncio.get_running_loop().time,
        )

    async def _pass(self, fleet: FleetKey) -> float | None:
        self.begun.append(fleet)
        await self.gate.wait()
        if self.errors:
            raise self.errors.pop(0)
        return self.again

    async def _tell(self, fleet: FleetKey, error: Exception) -> None:
        self.told.append((fleet, str(error)))


@pytest.fixture
async def passes() -> AsyncIterator[Passes]:
    passes = Passes()
    yield passes
    await passes.work.stop()


async def test_nothing_begins_before_the_start(passes: Passes) -> None:
    passes.work.mark([A])
    await asyncio.sleep(0.1)
    assert passes.begun == []

    passes.work.start()

    await until(lambda: passes.begun == [A])


async def test_many_changes_during_a_pass_make_one_more(passes: Passes) -> None:
    passes.work.start()
    passes.gate.clear()
    passes.work.mark([A])
    await until(lambda: passes.begun == [A])

    for _ in range(20):
        passes.work.mark([A])
    passes.gate.set()

    await until(lambda: passes.begun == [A, A])
    await asyncio.sleep(0.2)
    assert passes.begun == [A, A]


async def test_a_fleet_that_takes_long_does_not_hold_up_another(passes: Passes) -> None:
    passes.work.start()
    passes.gate.clear()

    passes.work.mark([A])
    passes.work.mark([B])

    await until(lambda: set(passes.begun) == {A, B})


async def test_a_pass_that_fails_is_told_and_made_again(passes: Passes) -> None:
    passes.errors = [RuntimeError("a bug"), RuntimeError("a bug")]
    passes.work.start()

    passes.work.mark([A])

    await until(lambda: passes.begun == [A, A, A])
    assert passes.told == [(A, "a bug"), (A, "a bug")]
    failures = passes.registry.get_sample_value(
        "specfleet_operator_reconcile_failures_total", {"reason": "RuntimeError"}
    )
    assert failures == 2


async def test_an_api_server_that_is_away_is_not_told_to_it(passes: Passes) -> None:
    passes.errors = [Unreachable("away")]
    passes.work.start()

    passes.work.mark([A])

    await until(lambda: passes.begun == [A, A])
    assert passes.told == []


async def test_changes_do_not_shorten_the_pause_after_failures(passes: Passes) -> None:
    passes.errors = [Unreachable("away") for _ in range(10)]
    passes.work.start()
    passes.work.mark([A])
    await until(lambda: len(passes.begun) == 3)

    for _ in range(5):
        passes.work.mark([A])
        await asyncio.sleep(0.1)

    assert len(passes.begun) == 3


async def test_a_conflict_is_no_failure_and_looked_at_again_soon(passes: Passes) -> None:
    passes.errors = [Conflict("changed")]
    passes.work.start()

    passes.work.mark([A])

    await until(lambda: passes.begun == [A, A])
    name = "specfleet_operator_reconcile_failures_total"
    assert passes.registry.get_sample_value(name, {"reason": "Conflict"}) is None


async def test_conflicts_without_an_end_are_looked_at_ever_more_seldom(passes: Passes) -> None:
    passes.errors = [Conflict("changed") for _ in range(100)]
    passes.work.start()

    passes.work.mark([A])
    await asyncio.sleep(1.4)

    # At once, and after 0.5 s; then after 1.5 s.
    assert len(passes.begun) == 2


async def test_a_pass_may_ask_for_the_next_one(passes: Passes) -> None:
    passes.again = 0.05
    passes.work.start()

    passes.work.mark([A])

    await until(lambda: len(passes.begun) >= 3)


async def test_a_fleet_that_is_forgotten_is_not_worked_on_again(passes: Passes) -> None:
    passes.again = 0.05
    passes.work.start()
    passes.work.mark([A])
    await until(lambda: passes.begun == [A])

    passes.work.forget(A)

    number = len(passes.begun)
    await asyncio.sleep(0.3)
    assert len(passes.begun) == number
    assert passes.registry.get_sample_value("specfleet_operator_fleets") == 0


async def test_what_was_marked_before_the_start_has_not_waited(passes: Passes) -> None:
    passes.work.mark([A])
    await asyncio.sleep(0.3)

    passes.work.start()

    assert passes.work.oldest_seconds() < 0.1
