"""One more engine for a running fleet, planned and started as `specfleet run` does it."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from specfleet_cli.children import Child, Guard
from specfleet_cli.endpoints import Endpoint, Fleet, Worker
from specfleet_cli.place import free_ports, inherited
from specfleet_cli.plan import Place, ProcessPlan, WorkerPlan, num_ports, plan
from specfleet_cli.running import SHARED_MEMORY
from specfleet_common.api.loading import load_fleet


def unchanged(worker: WorkerPlan) -> WorkerPlan:
    """Change nothing."""
    return worker


@asynccontextmanager
async def joining(
    manifest: Path,
    fleet: Fleet,
    out: Path,
    *,
    change: Callable[[WorkerPlan], WorkerPlan] = unchanged,
) -> AsyncIterator[Worker]:
    """Run one more engine with its agent for the time of a `with` block; it starts right away.

    It has no state, whoever joined before; `change` is made to its plan.
    """
    shm_directory = Path(tempfile.mkdtemp(prefix="specfleet-joining-", dir=SHARED_MEMORY))
    todo = change(planned(manifest, fleet, out, shm_directory))
    todo.shm_directory.mkdir()
    shutil.rmtree(todo.state_directory, ignore_errors=True)
    todo.state_directory.mkdir()
    guard = Guard()
    guard.watch_directory(shm_directory)
    async with AsyncExitStack() as stack:
        stack.callback(guard.finish)
        engine, agent = (_start(process, guard) for process in (todo.engine, todo.agent))
        stack.push_async_callback(agent.stop, grace_seconds=todo.agent.stop_seconds)
        stack.push_async_callback(engine.stop, grace_seconds=todo.engine.stop_seconds)
        yield Worker(
            name=todo.name,
            cohort=todo.cohort.name,
            serve=todo.cohort.serve.value,
            train=todo.cohort.train,
            worker_id=todo.worker_id,
            shm_directory=str(todo.shm_directory),
            state_directory=str(todo.state_directory),
            engine=_endpoint(todo.engine, engine),
            agent=_endpoint(todo.agent, agent),
        )


def planned(manifest: Path, fleet: Fleet, out: Path, shm_directory: Path) -> WorkerPlan:
    """Plan the manifest with one more engine in its last cohort, and return that engine."""
    wanted = load_fleet(manifest)
    *others, last = wanted.spec.cohorts
    grown = last.model_copy(update={"replicas": last.replicas + 1})
    spec = wanted.spec.model_copy(update={"cohorts": (*others, grown)})
    larger = wanted.model_copy(update={"spec": spec})
    place = Place(
        python=sys.executable, out=out, shm_directory=shm_directory, run_id=secrets.token_hex(3)
    )
    _, *ports = free_ports(num_ports(larger))
    aggregator_port = int(fleet.aggregator_address.rpartition(":")[2])
    return plan(larger, place, [aggregator_port, *ports]).workers[-1]


def _start(process: ProcessPlan, guard: Guard) -> Child:
    environment = {**inherited(os.environ), **process.environment}
    return Child.start(process.command, environment=environment, log=process.log, guard=guard)


def _endpoint(process: ProcessPlan, child: Child) -> Endpoint:
    return Endpoint(
        name=process.name, url=process.url, pid=child.pid, starts=1, log=str(process.log)
    )
