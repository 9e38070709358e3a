"""An Event per happening; repetitions are counted and seldom written."""

from __future__ import annotations

from specfleet_operator.api import as_of
from specfleet_operator.events import REPEAT_SECONDS, Events
from specfleet_operator.happenings import Happening
from specfleet_operator.kinds import EVENT
from specfleet_operator.observed import Object
from specfleet_operator.testing import FakeCluster
from specfleet_operator.tests.clocks import Clock
from specfleet_operator.tests.objects import fleet

LOST = Happening("Warning", "StoreUnreachable", "connection refused")
FOUND = Happening("Normal", "StoreReachable", "the store answers")


class Scene:
    def __init__(self) -> None:
        self.cluster = FakeCluster()
        self.clock = Clock()
        self.events = Events(
            self.cluster, instance="pod-0", clock=self.clock, wall_clock=self.clock
        )

    async def told(self) -> tuple[Object, ...]:
        return (await self.cluster.list(EVENT, "ns")).items


async def test_a_happening_becomes_an_event_about_the_fleet() -> None:
    scene = Scene()
    item = await scene.cluster.create(fleet("f", namespace="ns"))

    await scene.events.tell(item, LOST)

    (event,) = await scene.told()
    assert (event["type"], event["reason"], event["note"]) == (
        "Warning",
        "StoreUnreachable",
        "connection refused",
    )
    assert event["regarding"]["uid"] == item["metadata"]["uid"]


async def test_a_repetition_is_counted_and_written_after_a_while() -> None:
    scene = Scene()
    item = await scene.cluster.create(fleet("f", namespace="ns"))
    for _ in range(10):
        await scene.events.tell(item, LOST)
    (before,) = await scene.told()

    scene.clock.now += REPEAT_SECONDS
    await scene.events.tell(item, LOST)

    (after,) = await scene.told()
    assert "series" not in before
    assert after["series"]["count"] == 11


async def test_another_happening_is_another_event() -> None:
    scene = Scene()
    item = await scene.cluster.create(fleet("f", namespace="ns"))

    await scene.events.tell(item, LOST)
    await scene.events.tell(item, FOUND)

    assert len(await scene.told()) == 2


async def test_a_long_message_is_cut_to_what_an_event_takes() -> None:
    scene = Scene()
    item = await scene.cluster.create(fleet("f", namespace="ns"))

    await scene.events.tell(item, Happening("Warning", "Long", "x" * 5000))

    (event,) = await scene.told()
    assert len(event["note"]) == 1024


async def test_a_long_message_is_cut_by_its_bytes() -> None:
    scene = Scene()
    item = await scene.cluster.create(fleet("f", namespace="ns"))

    await scene.events.tell(item, Happening("Warning", "Long", "…" * 1000))

    (event,) = await scene.told()
    assert event["note"] == "…" * 341


async def test_a_repetition_of_what_the_api_server_forgot_is_told_anew() -> None:
    scene = Scene()
    item = await scene.cluster.create(fleet("f", namespace="ns"))
    await scene.events.tell(item, LOST)
    (event,) = await scene.told()
    await scene.cluster.delete(EVENT, "ns", event["metadata"]["name"], as_of(event))

    scene.clock.now += REPEAT_SECONDS
    await scene.events.tell(item, LOST)

    (after,) = await scene.told()
    assert after["reason"] == "StoreUnreachable"
