"""One fleet and one operator, for tests of whole passes."""

from __future__ import annotations

from typing import Any

from specfleet_operator.kinds import CHILDREN, FLEET, kind_of
from specfleet_operator.naming import FLEET_LABEL
from specfleet_operator.observed import Object
from specfleet_operator.reconciling import World, reconcile
from specfleet_operator.store import FleetKey
from specfleet_operator.testing import FakeCluster
from specfleet_operator.tests.clocks import Clock
from specfleet_operator.tests.objects import fleet
from specfleet_operator.tests.passes import new_world

KEY = FleetKey("ns", "f")
STATEFUL_SET = kind_of("apps/v1", "StatefulSet")

CONFIG_MAP = kind_of("v1", "ConfigMap")


def pod_of(stateful_set: Object, name: str, labels: dict[str, str]) -> dict[str, Any]:
    """Return a pod that a StatefulSet made, which is not ready."""
    owner = {"kind": "StatefulSet", "name": stateful_set["metadata"]["name"], "controller": True}
    metadata = {
        "name": name,
        "namespace": "ns",
        "labels": labels,
        "ownerReferences": [owner | {"uid": stateful_set["metadata"]["uid"]}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}


class Scene:
    """One fleet, one operator; `see` is what its informers do."""

    def __init__(self) -> None:
        self.cluster = FakeCluster()
        self.clock = Clock(1_800_000_000.0)
        self.world = self.new_world()

    def new_world(self) -> World:
        """Return what an operator knows that has just started."""
        return new_world(self.cluster, self.clock)

    async def create(self, **wishes: Any) -> Object:
        return await self.cluster.create(fleet("f", namespace="ns", **wishes))

    async def see(self) -> None:
        """Bring the operator's knowledge up to date."""
        listing = await self.cluster.list(FLEET, None)
        version = listing.resource_version
        self.world.fleets.replace(FLEET, None, listing.items, resource_version=version)
        for kind in CHILDREN:
            listing = await self.cluster.list(kind, None, selector=FLEET_LABEL)
            version = listing.resource_version
            self.world.children.replace(kind, None, listing.items, resource_version=version)

    async def settle(self) -> None:
        """Make passes until one changes nothing."""
        for _ in range(10):
            await self.see()
            before = self.cluster.version
            await reconcile(KEY, self.world)
            if self.cluster.version == before:
                return
        raise AssertionError(f"still writing: {self.cluster.writes[-5:]}")

    async def child(self, kind: Any, name: str) -> Object:
        found = await self.cluster.get(kind, "ns", name)
        assert found is not None
        return found
