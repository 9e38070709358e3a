"""The operator as a process against a real API server: no nodes, so objects and no pods."""

from __future__ import annotations

import asyncio
import itertools
import signal
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from e2e.cluster.control_plane import ControlPlane
from e2e.operator_process import LEASE_SECONDS, OperatorProcess, operator_process
from specfleet_operator.claiming import CLAIM_LEASE, CLAIM_SECONDS
from specfleet_operator.connecting import Connection
from specfleet_operator.kinds import CHILDREN, FLEET, LEASE, kind_of
from specfleet_operator.naming import FLEET_LABEL
from specfleet_operator.observed import Object
from specfleet_operator.tests.api_servers import cluster_of, new_namespace, until
from specfleet_operator.tests.objects import config, fleet

CONFIG_MAP = kind_of("v1", "ConfigMap")
STATEFUL_SET = kind_of("apps/v1", "StatefulSet")

_names = itertools.count()


class World:
    """A namespace with fleets, and the operators that look after it."""

    def __init__(
        self, plane: ControlPlane, connection: Connection, directory: Path, stack: ExitStack
    ) -> None:
        self.cluster = cluster_of(connection)
        self.plane = plane
        self.namespace = new_namespace(plane)
        self._directory = directory
        self._stack = stack
        plane.client.kubectl("create", "serviceaccount", "operator", "--namespace", self.namespace)

    def start(self, **settings: Any) -> OperatorProcess:
        """Start an operator that looks after this namespace alone."""
        name = f"operator-{next(_names)}"
        settings = {"watch": self.namespace, "namespace": self.namespace} | settings
        return self._stack.enter_context(
            operator_process(self.plane, self._directory, name=name, **settings)
        )

    async def ready(self, operator: OperatorProcess) -> None:
        """Wait until an operator knows everything."""
        await until(lambda: asyncio.to_thread(operator.page, "/readyz"))

    async def create(self, **wishes: Any) -> Object:
        """Create the fleet."""
        return await self.cluster.create(fleet("f", namespace=self.namespace, **wishes))

    async def edit(self, replicas: int) -> None:
        """Have another number of engines."""
        await self.cluster.merge(FLEET, self.namespace, "f", {"spec": {"replicas": replicas}})

    async def engines(self) -> int | None:
        """Return how many engines the operator asks for."""
        found = await self.cluster.get(STATEFUL_SET, self.namespace, "f-main")
        return None if found is None else int(found["spec"]["replicas"])

    async def converged(self, replicas: int, *, seconds: float = 60.0) -> None:
        """Wait until spec, children and status agree."""

        async def holds() -> bool:
            found = await self.cluster.get(FLEET, self.namespace, "f")
            assert found is not None
            status = found.get("status") or {}
            is_seen = status.get("observedGeneration") == found["metadata"]["generation"]
            return is_seen and await self.engines() == replicas

        await until(holds, seconds=seconds)

    async def versions(self) -> dict[str, str]:
        """Return the resource version of everything of the fleet."""
        found = await self.cluster.get(FLEET, self.namespace, "f")
        items = [found] if found is not None else []
        for kind in CHILDREN:
            listing = await self.cluster.list(kind, self.namespace, selector=FLEET_LABEL)
            items += listing.items
        return {
            f"{item['kind']} {item['metadata']['name']}": item["metadata"]["resourceVersion"]
            for item in items
        }

    async def quiet(self, *, seconds: float) -> dict[str, str]:
        """Wait until nothing has changed for a while; return the versions."""
        before = await self.versions()
        async with asyncio.timeout(120):
            while True:
                await asyncio.sleep(seconds)
                after = await self.versions()
                if after == before:
                    return after
                before = after


@pytest.fixture
async def world(
    plane: ControlPlane, connection: Connection, tmp_path: Path
) -> AsyncIterator[World]:
    with ExitStack() as stack:
        world = World(plane, connection, tmp_path, stack)
        yield world
    plane.client.kubectl("delete", "speculatorfleet", "--all", "--namespace", world.namespace)


async def test_a_fleet_gets_its_children_and_follows_its_spec(world: World) -> None:
    operator = world.start()

    await world.create()
    await world.converged(1)
    await world.edit(3)
    await world.converged(3)

    kinds = {key.partition(" ")[0] for key in await world.versions()}
    assert kinds >= {
        "StatefulSet",
        "Service",
        "ConfigMap",
        "Secret",
        "ServiceAccount",
        "PodDisruptionBudget",
        "NetworkPolicy",
        "ControllerRevision",
    }
    assert operator.page("/healthz") == "ok\n"
    assert operator.metric("specfleet_operator_reconcile_failures_total") == 0


async def test_at_rest_nothing_is_written(world: World) -> None:
    operator = world.start(resync_seconds=2.0)
    await world.create()
    await world.converged(1)
    before = await world.quiet(seconds=3.0)
    written = operator.writes()

    await asyncio.sleep(10.0)

    assert operator.writes() == written
    assert await world.versions() == before


async def test_what_somebody_changed_or_deleted_is_put_right(world: World) -> None:
    world.start()
    await world.create()
    await world.converged(1)
    await world.quiet(seconds=1.0)

    world.plane.client.kubectl("delete", "configmap", "f-settings", "--namespace", world.namespace)
    wrong = {"spec": {"replicas": 7}}
    await world.cluster.merge(STATEFUL_SET, world.namespace, "f-main", wrong)

    await world.converged(1)
    await until(lambda: world.cluster.get(CONFIG_MAP, world.namespace, "f-settings"))


async def test_what_belongs_to_others_stays_as_it_is(world: World) -> None:
    namespace = world.namespace
    theirs = await world.cluster.apply(config("f-settings", namespace=namespace, x="theirs"))
    other = await world.cluster.apply(config("unrelated", namespace=namespace, x="1"))
    created = await world.create()
    operator = world.start()

    await until(world.engines)
    await world.quiet(seconds=3.0)

    assert await world.cluster.get(CONFIG_MAP, namespace, "f-settings") == theirs
    assert await world.cluster.get(CONFIG_MAP, namespace, "unrelated") == other
    found = await world.cluster.get(FLEET, namespace, "f")
    assert found is not None
    assert found["spec"] == created["spec"]
    assert found["metadata"].keys() == created["metadata"].keys()
    assert "exists and belongs to somebody else" in operator.log.read_text()


async def test_a_fleet_can_be_deleted_without_the_operator(world: World) -> None:
    operator = world.start()
    await world.create()
    await world.converged(1)
    operator.signal(signal.SIGTERM)
    assert await asyncio.to_thread(operator.process.wait, 20) == 0

    world.plane.client.kubectl("delete", "speculatorfleet", "f", "--namespace", world.namespace)

    assert await world.cluster.get(FLEET, world.namespace, "f") is None
    for kind in CHILDREN:
        for item in (await world.cluster.list(kind, world.namespace)).items:
            assert not item["metadata"].get("finalizers")


async def test_what_was_deleted_stays_deleted(world: World) -> None:
    operator = world.start()
    await world.create()
    await world.converged(1)

    world.plane.client.kubectl("delete", "speculatorfleet", "f", "--namespace", world.namespace)
    for kind in CHILDREN:
        world.plane.client.kubectl(
            "delete", kind.plural, "-lspecfleet.dev/fleet=f", "-n", world.namespace
        )
    await world.quiet(seconds=3.0)

    assert await world.versions() == {}
    assert operator.metric("specfleet_operator_fleets") == 0


async def test_a_second_operator_follows_and_takes_over(world: World) -> None:
    leader = world.start()
    await until(lambda: asyncio.to_thread(leader.leads))
    follower = world.start()
    await world.create()
    await world.converged(1)
    await world.ready(follower)
    assert follower.writes() == 0

    leader.signal(signal.SIGKILL)
    await world.edit(2)
    await world.converged(2, seconds=3 * LEASE_SECONDS)

    assert follower.leads()


async def test_a_leader_that_is_told_to_stop_hands_over_at_once(world: World) -> None:
    leader = world.start(lease_seconds=120.0)
    await until(lambda: asyncio.to_thread(leader.leads))
    follower = world.start()
    await world.create()
    await world.converged(1)
    await world.ready(follower)

    leader.signal(signal.SIGTERM)
    await world.edit(2)
    await world.converged(2, seconds=30.0)

    assert await asyncio.to_thread(leader.process.wait, 20) == 0


@pytest.mark.e2e
async def test_a_frozen_leader_changes_nothing_when_it_wakes_up_and_ends(world: World) -> None:
    leader = world.start()
    await until(lambda: asyncio.to_thread(leader.leads))
    follower = world.start()
    await world.create()
    await world.converged(1)
    await world.edit(2)  # so that the leader is in the middle of something
    leader.signal(signal.SIGSTOP)
    await until(lambda: asyncio.to_thread(follower.leads), seconds=4 * LEASE_SECONDS)
    await world.edit(3)
    await world.converged(3)
    before = await world.quiet(seconds=3.0)

    leader.signal(signal.SIGCONT)
    code = await asyncio.to_thread(leader.process.wait, 30)

    assert code == 1
    await asyncio.sleep(1.0)
    assert await world.versions() == before
    found = await world.cluster.get(LEASE, world.namespace, "specfleet-operator")
    assert found is not None and follower.leads()


@pytest.mark.e2e
async def test_the_operator_survives_a_restart_of_the_api_server(world: World) -> None:
    operator = world.start(lease_seconds=60.0)
    await world.create()
    await world.converged(1)

    # Not in a thread: the API server ends with the thread that started it.
    world.plane.restart_api_server()
    await world.edit(2)
    await world.converged(2)

    assert operator.process.poll() is None
    assert operator.page("/healthz") == "ok\n"


@pytest.mark.e2e
async def test_a_cluster_wide_operator_leaves_a_namespace_alone_while_it_is_marked(
    world: World,
) -> None:
    namespaced = world.start()
    await until(lambda: world.cluster.get(LEASE, world.namespace, CLAIM_LEASE))
    wide = world.start(watch="", namespace=new_namespace(world.plane))
    await until(lambda: asyncio.to_thread(wide.leads))
    await world.create()
    await world.converged(1)

    namespaced.signal(signal.SIGSTOP)
    frozen_at = asyncio.get_running_loop().time()
    await world.edit(2)
    await world.converged(2, seconds=2 * CLAIM_SECONDS)

    assert asyncio.get_running_loop().time() - frozen_at > CLAIM_SECONDS / 2
