"""A second aggregator on the store of a fleet, as a node that was thought lost would run on."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from e2e.failures.story import Story
from specfleet_cli.children import Child, Guard
from specfleet_cli.place import free_ports, inherited
from specfleet_cli.plan import Place, WorkerPlan, num_ports, plan
from specfleet_common.api.loading import load_fleet

AGGREGATOR = "SPECFLEET_AGENT_AGGREGATOR"


@dataclass(frozen=True, slots=True)
class Rival:
    """The second aggregator."""

    address: str

    def change(self, worker: WorkerPlan) -> WorkerPlan:
        """Have a worker report to it."""
        environment = {**worker.agent.environment, AGGREGATOR: self.address}
        return replace(worker, agent=replace(worker.agent, environment=environment))


@asynccontextmanager
async def rival(fleet: Story) -> AsyncIterator[Rival]:
    """Run one for the time of a `with` block, with settings and secret of the first."""
    wanted = load_fleet(fleet.manifest)
    place = Place(
        python=sys.executable,
        out=fleet.out,
        shm_directory=fleet.out,
        run_id=secrets.token_hex(3),
    )
    planned = plan(wanted, place, free_ports(num_ports(wanted)))
    process = replace(planned.aggregator, log=fleet.out / "logs/rival.log")
    guard = Guard()
    try:
        child = Child.start(
            process.command,
            environment={**inherited(os.environ), **process.environment},
            log=process.log,
            guard=guard,
        )
        yield Rival(planned.aggregator_address)
        await child.stop(grace_seconds=process.stop_seconds)
    finally:
        guard.finish()
