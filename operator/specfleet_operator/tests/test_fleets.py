"""kopf tells, the list decides, and the two together show whether kopf's stream is alive."""

from __future__ import annotations

import asyncio

import pytest

from specfleet_operator.api import Expired, Listing, as_of
from specfleet_operator.fleets import Fleets
from specfleet_operator.kinds import FLEET, Kind
from specfleet_operator.observed import Object
from specfleet_operator.store import FleetKey, Store
from specfleet_operator.testing import FakeCluster
from specfleet_operator.tests.clocks import Clock
from specfleet_operator.tests.objects import fleet

KEY = FleetKey("ns", "f")


class Scene:
    def __init__(self) -> None:
        self.cluster = FakeCluster()
        self.clock = Clock()
        self.changed: list[FleetKey] = []
        self.gone: list[FleetKey] = []
        self.fleets = Fleets(
            self.cluster,
            Store(),
            (None,),
            changed=self.changed.append,
            gone=self.gone.append,
            clock=self.clock,
        )

    async def list(self, *, after_seconds: float = 30.0) -> None:
        self.clock.now += after_seconds
        await self.fleets.list()


async def test_a_fleet_that_is_told_is_looked_at() -> None:
    scene = Scene()
    item = await scene.cluster.create(fleet("f", namespace="ns"))

    scene.fleets.told(item, deleted=False)

    assert scene.changed == [KEY]
    assert scene.fleets.all() == (KEY,)


async def test_the_operators_own_status_is_no_reason_to_look() -> None:
    scene = Scene()
    scene.fleets.told(await scene.cluster.create(fleet("f", namespace="ns")), deleted=False)
    written = await scene.cluster.apply_status(
        fleet("f", namespace="ns") | {"status": {"replicas": 1}}
    )

    scene.fleets.told(written, deleted=False)

    assert scene.changed == [KEY]
    found = scene.fleets.store.get(FLEET, "ns", "f")
    assert found == written


async def test_every_list_has_every_fleet_looked_at() -> None:
    scene = Scene()
    await scene.cluster.create(fleet("f", namespace="ns"))

    await scene.list()
    await scene.list()

    assert scene.changed == [KEY, KEY]
    assert scene.fleets.synced.is_set()


async def test_a_fleet_that_is_deleted_is_gone() -> None:
    scene = Scene()
    item = await scene.cluster.create(fleet("f", namespace="ns"))
    scene.fleets.told(item, deleted=False)

    scene.fleets.told(item, deleted=True)

    assert scene.gone == [KEY]
    assert scene.fleets.all() == ()


async def test_a_deletion_that_nobody_told_is_seen_in_the_list() -> None:
    scene = Scene()
    item = await scene.cluster.create(fleet("f", namespace="ns"))
    await scene.list()
    await scene.cluster.delete(FLEET, "ns", "f", as_of(item))

    await scene.list()

    assert scene.gone == [KEY]


@pytest.mark.parametrize("is_told", [True, False])
async def test_a_fleet_that_is_made_again_is_another_one(is_told: bool) -> None:
    scene = Scene()
    item = await scene.cluster.create(fleet("f", namespace="ns"))
    await scene.list()
    await scene.cluster.delete(FLEET, "ns", "f", as_of(item))
    again = await scene.cluster.create(fleet("f", namespace="ns"))

    if is_told:
        scene.fleets.told(again, deleted=False)
    else:
        await scene.list()

    assert scene.gone == [KEY]
    assert scene.changed == [KEY, KEY]


async def test_a_stream_that_tells_everything_is_young() -> None:
    scene = Scene()
    item = await scene.cluster.create(fleet("f", namespace="ns"))
    await scene.list()
    scene.fleets.told(item, deleted=False)

    await scene.list()

    assert scene.fleets.age_seconds() == 0.0


async def test_a_stream_that_tells_nothing_grows_old_and_the_fleet_is_looked_at_anyway() -> None:
    scene = Scene()
    item: Object = await scene.cluster.create(fleet("f", namespace="ns"))
    scene.fleets.told(item, deleted=False)
    await scene.list()
    await scene.cluster.apply(fleet("f", namespace="ns", replicas=4))
    await scene.list()

    await scene.list()
    await scene.list()

    assert scene.fleets.age_seconds() == 60.0
    found = scene.fleets.store.get(FLEET, "ns", "f")
    assert found is not None and found["spec"]["replicas"] == 4


class Forgetful(FakeCluster):
    """An API server that has forgotten the first page of a list when it is asked for the next."""

    def __init__(self) -> None:
        super().__init__()
        self.num_failing_lists = 1

    async def list(self, kind: Kind, namespace: str | None, *, selector: str = "") -> Listing:
        if self.num_failing_lists > 0:
            self.num_failing_lists -= 1
            raise Expired("the continue parameter is too old")
        return await super().list(kind, namespace, selector=selector)


async def test_a_list_that_expires_half_way_is_made_again() -> None:
    fleets = Fleets(
        Forgetful(),
        Store(),
        (None,),
        changed=lambda _: None,
        gone=lambda _: None,
        clock=Clock(),
    )

    keeping = asyncio.create_task(fleets.keep(0.01))

    async with asyncio.timeout(10.0):
        await fleets.synced.wait()
    keeping.cancel()
