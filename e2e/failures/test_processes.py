"""Processes of a fleet under traffic are killed or stopped: nobody notices, it learns on."""

from __future__ import annotations

import os
import signal

import pytest

from e2e.experiments.disturbing import kill_engine
from e2e.failures.asking import page
from e2e.failures.story import LOCAL_STEPS, Story
from e2e.joining_engine import joining
from e2e.killing import kill
from specfleet_cli.endpoints import FILE_NAME

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="session")]


@pytest.mark.parametrize("victim", ["trainer", "agent", "aggregator"])
async def test_a_killed_process_comes_back_and_nobody_notices(fleet: Story, victim: str) -> None:
    async with fleet.surviving(f"{victim} killed"):
        revival = await kill(victim, fleet.trainers[0], fleet.out / FILE_NAME, fleet.observer)

    assert revival.back_after_seconds is not None, revival.detail


@pytest.mark.long
async def test_a_killed_engine_is_missed_by_its_own_clients_only(fleet: Story) -> None:
    victim = fleet.trainers[1]

    async with fleet.surviving("engine killed", but={victim.name}):
        revival = await kill_engine(victim, fleet.observer)
        since = fleet.number
        await fleet.until(lambda: fleet.has_run_newer(victim, since), "it runs a newer version")

    assert revival.back_after_seconds is not None, revival.detail


@pytest.mark.long
async def test_a_lost_node_holds_no_round_once_its_lease_has_ended(fleet: Story) -> None:
    async with (
        fleet.surviving("node lost"),
        joining(fleet.manifest, fleet.fleet, fleet.out) as lost,
    ):
        await fleet.until(lambda: fleet.is_live(lost), "it has a lease")
        for process in (lost.agent, lost.engine):
            assert process.pid is not None
            os.kill(process.pid, signal.SIGKILL)
        await fleet.until(lambda: not fleet.is_live(lost), "its lease ends")
        others = [fleet.is_live(worker) for worker in fleet.fleet.workers]

    assert all(others)


@pytest.mark.long
@pytest.mark.parametrize("seconds", [5, 60])
async def test_a_trainer_that_stands_still_goes_on_where_it_was(
    fleet: Story, seconds: float
) -> None:
    worker = fleet.trainers[0]
    pid = fleet.report(worker).pid

    async with fleet.surviving("trainer stopped"):
        os.kill(pid, signal.SIGSTOP)
        steps = fleet.report(worker).total_steps
        since = fleet.observer.seconds
        await fleet.until(lambda: fleet.observer.seconds > since + seconds, "time passes")
        stood_still = fleet.report(worker).total_steps
        healthy = page(worker.agent, "/healthz")
        os.kill(pid, signal.SIGCONT)
        await fleet.until(
            lambda: fleet.report(worker).total_steps > steps + LOCAL_STEPS, "it trains on"
        )

    assert stood_still <= steps + 1
    assert healthy.startswith("ok")
    assert fleet.report(worker).pid == pid
