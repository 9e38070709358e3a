"""Kinds that other projects define come and go while the operator runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from specfleet_operator.informers import Informer
from specfleet_operator.kinds import OPTIONAL_CHILDREN, Kind
from specfleet_operator.naming import FLEET_LABEL
from specfleet_operator.optional import OptionalChildren
from specfleet_operator.store import FleetKey, Store
from specfleet_operator.testing import FakeCluster
from specfleet_operator.tests.clocks import Clock
from specfleet_operator.tests.waiting import until

FLEET = FleetKey("ns", "f")
(POD_MONITOR,) = OPTIONAL_CHILDREN


class Scene:
    def __init__(self) -> None:
        self.cluster = FakeCluster()
        self.store = Store()
        self.num_changes = 0
        self.optional = OptionalChildren(
            self.cluster, self.store, self._informers, changed=self._changed
        )
        self.task = asyncio.create_task(self.optional.keep(0.01))

    def define(self, *kinds: Kind) -> None:
        names = frozenset(kind.name for kind in kinds)
        self.cluster.served = {POD_MONITOR.api_version: names}

    async def create(self) -> None:
        metadata = {"name": "f-engine", "namespace": "ns", "labels": {FLEET_LABEL: "f"}}
        await self.cluster.create(
            {"apiVersion": POD_MONITOR.api_version, "kind": "PodMonitor", "metadata": metadata}
        )

    def _informers(self, kind: Kind) -> list[Informer]:
        return [
            Informer(
                self.cluster,
                self.store,
                kind,
                None,
                selector=FLEET_LABEL,
                mark=lambda _: None,
                clock=Clock(),
            )
        ]

    def _changed(self) -> None:
        self.num_changes += 1


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    scene = Scene()
    yield scene
    scene.task.cancel()


async def test_a_kind_that_is_defined_later_is_followed_from_then_on(scene: Scene) -> None:
    await asyncio.sleep(0.05)
    assert scene.optional.names() == frozenset()
    await scene.create()

    scene.define(POD_MONITOR)

    await until(lambda: scene.num_changes == 1)
    assert scene.optional.names() == {"PodMonitor"}
    assert len(scene.store.of_fleet(FLEET)) == 1


async def test_of_a_kind_that_is_defined_no_more_nothing_is_left_to_delete(scene: Scene) -> None:
    await scene.create()
    scene.define(POD_MONITOR)
    await until(lambda: scene.num_changes == 1)

    scene.define()

    await until(lambda: scene.num_changes == 2)
    assert scene.optional.names() == frozenset()
    assert scene.store.of_fleet(FLEET) == ()
