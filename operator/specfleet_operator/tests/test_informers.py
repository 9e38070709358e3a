"""An informer keeps the store up to date whatever happens to its stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable

import pytest

from specfleet_operator.api import Change, Expired, Listing, Refused, Unreachable, as_of
from specfleet_operator.informers import Informer
from specfleet_operator.kinds import Kind, kind_of
from specfleet_operator.naming import FLEET_LABEL
from specfleet_operator.observed import ObjectKey
from specfleet_operator.store import FleetKey, Store
from specfleet_operator.testing import FakeCluster
from specfleet_operator.tests.clocks import Clock
from specfleet_operator.tests.objects import config

CONFIG_MAP = kind_of("v1", "ConfigMap")
FLEET = FleetKey("ns", "f")


class Moody(FakeCluster):
    """An API server that breaks streams off and does not answer lists for a while."""

    def __init__(self) -> None:
        super().__init__()
        self.lists = 0
        self.num_failing_lists = 0
        self.watches = 0
        self.num_failing_watches = 0
        self.failure: Exception | None = Unreachable("silent")
        """How watches fail; None when they end at once."""

    async def list(self, kind: Kind, namespace: str | None, *, selector: str = "") -> Listing:
        self.lists += 1
        if self.num_failing_lists > 0:
            self.num_failing_lists -= 1
            raise Unreachable("away")
        return await super().list(kind, namespace, selector=selector)

    async def watch(
        self,
        kind: Kind,
        namespace: str | None,
        *,
        since: str,
        selector: str = "",
        silence_seconds: float,
    ) -> AsyncGenerator[Change, None]:
        self.watches += 1
        if self.num_failing_watches > 0:
            self.num_failing_watches -= 1
            if self.failure is None:
                return
            raise self.failure
        async for change in super().watch(
            kind, namespace, since=since, selector=selector, silence_seconds=silence_seconds
        ):
            yield change


class Scene:
    def __init__(self) -> None:
        self.cluster = Moody()
        self.store = Store()
        self.clock = Clock()
        self.marked: list[FleetKey] = []
        self.informer = Informer(
            self.cluster,
            self.store,
            CONFIG_MAP,
            None,
            selector=FLEET_LABEL,
            mark=self._mark,
            clock=self.clock,
        )
        self.task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self.task = asyncio.create_task(self.informer.run())

    def _mark(self, fleets: Iterable[FleetKey]) -> None:
        self.marked += fleets

    async def names(self, *expected: str) -> None:
        """Wait until the store has exactly these."""
        async with asyncio.timeout(10.0):
            while True:
                found = [item["metadata"]["name"] for item in self.store.of_fleet(FLEET)]
                if found == list(expected):
                    return
                await asyncio.sleep(0.01)


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    scene = Scene()
    yield scene
    if scene.task is not None:
        scene.task.cancel()


async def test_what_is_there_and_what_comes_is_known(scene: Scene) -> None:
    await scene.cluster.apply(config("a", namespace="ns", fleet="f"))
    scene.start()
    await scene.names("a")

    await scene.cluster.apply(config("b", namespace="ns", fleet="f"))

    await scene.names("a", "b")
    assert set(scene.marked) == {FLEET}
    assert scene.informer.synced.is_set()


async def test_what_is_deleted_is_forgotten(scene: Scene) -> None:
    item = await scene.cluster.apply(config("a", namespace="ns", fleet="f"))
    scene.start()
    await scene.names("a")

    await scene.cluster.delete(CONFIG_MAP, "ns", "a", as_of(item))

    await scene.names()


async def test_a_stream_that_ends_is_opened_where_it_ended(scene: Scene) -> None:
    scene.start()
    await scene.informer.synced.wait()

    scene.cluster.end_streams()
    await scene.cluster.apply(config("a", namespace="ns", fleet="f"))

    await scene.names("a")
    assert scene.cluster.lists == 1


async def test_a_stream_that_breaks_is_opened_again_without_a_list(scene: Scene) -> None:
    scene.cluster.num_failing_watches = 2
    scene.start()
    await scene.informer.synced.wait()

    await scene.cluster.apply(config("a", namespace="ns", fleet="f"))

    await scene.names("a")
    assert scene.cluster.lists == 1


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(Unreachable("too many requests"), id="busy"),
        pytest.param(Refused(ObjectKey("v1", "ConfigMap", "*"), "may not watch"), id="forbidden"),
        pytest.param(Expired("too old"), id="expired"),
        pytest.param(None, id="ended-at-once"),
    ],
)
async def test_a_stream_that_fails_again_and_again_is_opened_ever_more_seldom(
    scene: Scene, failure: Exception | None
) -> None:
    scene.cluster.num_failing_watches = 1_000_000
    scene.cluster.failure = failure
    scene.start()

    await asyncio.sleep(1.6)

    # After 0.25, 0.75 and 1.75 s.
    assert scene.cluster.watches <= 3


async def test_a_history_that_is_gone_is_made_up_for_by_a_list(scene: Scene) -> None:
    item = await scene.cluster.apply(config("a", namespace="ns", fleet="f"))
    scene.start()
    await scene.names("a")
    scene.cluster.num_failing_watches = 1
    scene.cluster.end_streams()
    await asyncio.sleep(0)
    await scene.cluster.delete(CONFIG_MAP, "ns", "a", as_of(item))
    await scene.cluster.apply(config("b", namespace="ns", fleet="f"))

    scene.cluster.forget_history()

    await scene.names("b")


async def test_an_api_server_that_is_away_is_asked_again(scene: Scene) -> None:
    await scene.cluster.apply(config("a", namespace="ns", fleet="f"))
    scene.cluster.num_failing_lists = 2

    scene.start()

    await scene.names("a")


async def test_age_grows_while_nothing_is_heard(scene: Scene) -> None:
    scene.cluster.num_failing_lists = 1_000_000
    scene.start()
    await asyncio.sleep(0)

    scene.clock.now += 400.0
    assert scene.informer.age_seconds() == 400.0

    scene.cluster.num_failing_lists = 0
    await scene.informer.synced.wait()
    assert scene.informer.age_seconds() == 0.0
