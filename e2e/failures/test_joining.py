"""Workers join a fleet under traffic, and something is wrong with some of them."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

import specfleet_common
import specfleet_engine
from e2e.failures.asking import page, sample
from e2e.failures.story import Story
from specfleet_agent.supervision import PARKED_SECONDS
from specfleet_cli.plan import WorkerPlan
from specfleet_cli.running import SHARED_MEMORY

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.asyncio(loop_scope="session")]

PARKED = "specfleet_agent_trainer_parked"
LARGEST_RING_BYTES = 1 << 36


def with_engine(worker: WorkerPlan, environment: Mapping[str, str]) -> WorkerPlan:
    """Return a worker whose engine has other variables."""
    engine = worker.engine
    return replace(
        worker, engine=replace(engine, environment={**engine.environment, **environment})
    )


def with_agent(worker: WorkerPlan, environment: Mapping[str, str]) -> WorkerPlan:
    """Return a worker whose agent has other variables."""
    agent = worker.agent
    return replace(worker, agent=replace(agent, environment={**agent.environment, **environment}))


async def test_a_worker_without_state_takes_part_from_the_newest_version(fleet: Story) -> None:
    since = fleet.number
    async with fleet.joined("joins") as worker:
        await fleet.until(lambda: fleet.has_run_newer(worker, since), "it runs a new version")
        await fleet.until(lambda: fleet.number_with(worker) is not None, "a version with its delta")

    assert (fleet.number_with(worker) or 0) > since


async def test_an_engine_with_too_little_shared_memory_serves_on_and_says_so(fleet: Story) -> None:
    place = os.statvfs(SHARED_MEMORY)
    too_much = place.f_blocks * place.f_frsize + (1 << 20)
    if too_much > LARGEST_RING_BYTES:
        pytest.skip(f"{SHARED_MEMORY} has room for the largest ring there is")
    ring = {"SPECFLEET_ENGINE_RING_BYTES": str(too_much)}

    async with fleet.joined("too small", change=lambda one: with_engine(one, ring)) as worker:
        await fleet.until(lambda: bool(fleet.engine_problem(worker)), "told of the engine")
        problem = fleet.engine_problem(worker)
        healthy = page(worker.agent, "/healthz")

    assert problem.startswith("SharedMemoryFull: ")
    assert "raise spec.engine.sharedMemory" in problem
    assert healthy.startswith("ok")


@pytest.mark.parametrize("step", [1, -1])
async def test_a_plugin_of_another_format_is_refused_and_its_engine_serves_on(
    fleet: Story, tmp_path: Path, step: int
) -> None:
    path = os.pathsep.join((str(of_another_format(tmp_path, step)), os.environ["PYTHONPATH"]))
    reason = f"statistics page of format {1 + step}, expected format 1"

    async with fleet.joined(
        "another format", change=lambda one: with_engine(one, {"PYTHONPATH": path})
    ) as worker:
        await fleet.until(lambda: reason in fleet.log(worker.agent.name), "it says so")
        healthy = page(worker.agent, "/healthz")

    assert healthy.startswith("ok")


def of_another_format(folder: Path, step: int) -> Path:
    """Copy plugin and common parts, with another format of shared files; return the copy's path."""
    for package in (specfleet_common, specfleet_engine):
        source = Path(package.__path__[0])
        shutil.copytree(source, folder / source.name, ignore=shutil.ignore_patterns("tests"))
    layout = folder / "specfleet_common/shm/layout.py"
    text = layout.read_text(encoding="utf-8")
    assert "\nFORMAT = 1\n" in text
    layout.write_text(text.replace("\nFORMAT = 1\n", f"\nFORMAT = {1 + step}\n"), encoding="utf-8")
    return folder


async def test_a_trainer_over_its_memory_is_killed_and_its_engine_serves_on(fleet: Story) -> None:
    little = {"SPECFLEET_AGENT_TRAINER_MEMORY_BYTES": str(64 << 20)}
    killed = 'specfleet_agent_trainer_restarts_total{cause="memory"}'

    async with fleet.joined("memory", change=lambda one: with_agent(one, little)) as worker:
        await fleet.until(lambda: (sample(worker.agent, killed) or 0) >= 2, "killed twice")
        healthy = page(worker.agent, "/healthz")

    assert healthy.startswith("ok")
    assert "allowed are 67108864" in fleet.log(worker.agent.name)


async def test_a_crash_loop_is_parked_tried_again_and_ended_by_what_ends_its_cause(
    fleet: Story, tmp_path: Path
) -> None:
    well = tmp_path / "well"
    script = f'[ -e "{well}" ] && exec "{sys.executable}" -m specfleet_trainer; exit 3'
    crashing = {"SPECFLEET_AGENT_TRAINER_COMMAND": json.dumps(["/bin/sh", "-c", script])}

    async with fleet.joined("crash loop", change=lambda one: with_agent(one, crashing)) as it:
        await fleet.until(lambda: fleet.phase(it) == "parked", "parked")
        await fleet.until(lambda: sample(it.agent, PARKED) == 1, "shown to be parked")
        well.touch()
        took = await fleet.until(
            lambda: fleet.phase(it) == "training", "tried again", seconds=PARKED_SECONDS + 120
        )
        await fleet.until(lambda: fleet.number_with(it) is not None, "it takes part")
        await fleet.until(lambda: sample(it.agent, PARKED) == 0, "shown to be parked no longer")

    assert took > PARKED_SECONDS / 2
