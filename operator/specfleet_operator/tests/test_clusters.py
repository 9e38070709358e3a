"""What the operator relies on, held against the real API server and against the one in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass

import pytest

from e2e.cluster.control_plane import ControlPlane
from specfleet_operator.api import (
    Change,
    Cluster,
    Conflict,
    Ending,
    Precondition,
    annotations_patch,
    as_of,
)
from specfleet_operator.connecting import connection_by_kubeconfig
from specfleet_operator.kinds import LEASE, Kind, kind_of
from specfleet_operator.naming import FLEET_LABEL
from specfleet_operator.testing import FakeCluster
from specfleet_operator.tests.api_servers import cluster_of, new_namespace
from specfleet_operator.tests.objects import config, fleet, lease

CONFIG_MAP = kind_of("v1", "ConfigMap")


@dataclass(slots=True)
class Place:
    """A cluster with a namespace of its own for one test."""

    cluster: Cluster
    namespace: str
    plane: ControlPlane | None = None

    async def end_namespace(self) -> None:
        """Delete the namespace; without a controller manager it never goes for good."""
        if self.plane is not None:
            self.plane.client.kubectl("delete", "namespace", self.namespace, "--wait=false")
        elif isinstance(self.cluster, FakeCluster):
            self.cluster.ending = frozenset({self.namespace})


@pytest.fixture(params=["memory", "real"])
async def place(request: pytest.FixtureRequest) -> AsyncIterator[Place]:
    if request.param == "memory":
        yield Place(FakeCluster(), "test")
        return
    plane: ControlPlane = request.getfixturevalue("plane")
    async with connection_by_kubeconfig(plane.kubeconfig, "test") as connection:
        yield Place(cluster_of(connection), new_namespace(plane), plane)


async def test_what_is_applied_is_there(place: Place) -> None:
    applied = await place.cluster.apply(config("a", namespace=place.namespace, x="1"))

    found = await place.cluster.get(CONFIG_MAP, place.namespace, "a")

    assert found == applied
    assert found is not None and found["data"] == {"x": "1"}
    assert "managedFields" not in found["metadata"]


async def test_what_is_not_there_is_none(place: Place) -> None:
    assert await place.cluster.get(CONFIG_MAP, place.namespace, "nothing") is None


async def test_an_apply_removes_what_the_one_before_said(place: Place) -> None:
    await place.cluster.apply(config("a", namespace=place.namespace, x="1", y="2"))

    after = await place.cluster.apply(config("a", namespace=place.namespace, y="3"))

    assert after["data"] == {"y": "3"}


async def test_an_apply_leaves_what_others_said(place: Place) -> None:
    await place.cluster.apply(config("a", namespace=place.namespace, x="1"))
    theirs = {"metadata": {"annotations": {"theirs": "kept"}}}
    await place.cluster.merge(CONFIG_MAP, place.namespace, "a", theirs)

    after = await place.cluster.apply(config("a", namespace=place.namespace, x="2"))

    assert after["metadata"]["annotations"] == {"theirs": "kept"}


async def test_applying_the_same_again_changes_nothing(place: Place) -> None:
    item = config("a", namespace=place.namespace, x="1")
    first = await place.cluster.apply(item)

    second = await place.cluster.apply(item)

    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


async def test_an_apply_to_an_older_state_is_a_conflict(place: Place) -> None:
    first = await place.cluster.apply(config("a", namespace=place.namespace, x="1"))
    await place.cluster.apply(config("a", namespace=place.namespace, x="2"))

    with pytest.raises(Conflict):
        await place.cluster.apply(
            config("a", namespace=place.namespace, x="3"),
            since=as_of(first),
        )


async def test_an_apply_to_what_is_gone_makes_nothing(place: Place) -> None:
    first = await place.cluster.apply(config("a", namespace=place.namespace, x="1"))
    await place.cluster.delete(CONFIG_MAP, place.namespace, "a", as_of(first))

    with pytest.raises(Conflict):
        await place.cluster.apply(
            config("a", namespace=place.namespace, x="2"),
            since=as_of(first),
        )

    assert await place.cluster.get(CONFIG_MAP, place.namespace, "a") is None


async def test_nothing_new_comes_into_a_namespace_that_is_being_deleted(place: Place) -> None:
    await place.cluster.apply(config("a", namespace=place.namespace, x="1"))
    await place.end_namespace()

    with pytest.raises(Ending):
        await place.cluster.apply(config("b", namespace=place.namespace, x="1"))


async def test_only_a_change_of_the_spec_makes_a_generation(place: Place) -> None:
    first = await place.cluster.apply(fleet("f", namespace=place.namespace))
    status = fleet("f", namespace=place.namespace) | {"status": {"replicas": 3}}
    del status["spec"]

    second = await place.cluster.apply_status(status)
    third = await place.cluster.apply(fleet("f", namespace=place.namespace, replicas=2))

    assert [one["metadata"]["generation"] for one in (first, second, third)] == [1, 1, 2]
    assert third["status"] == {"replicas": 3}


async def test_a_status_is_replaced_whole(place: Place) -> None:
    await place.cluster.apply(fleet("f", namespace=place.namespace))
    shell = fleet("f", namespace=place.namespace)
    del shell["spec"]
    await place.cluster.apply_status(shell | {"status": {"replicas": 3, "selector": "a=b"}})

    after = await place.cluster.apply_status(shell | {"status": {"replicas": 4}})

    assert after["status"] == {"replicas": 4}


async def test_a_status_on_an_older_state_is_a_conflict(place: Place) -> None:
    first = await place.cluster.apply(fleet("f", namespace=place.namespace))
    await place.cluster.apply(fleet("f", namespace=place.namespace, replicas=2))
    shell = fleet("f", namespace=place.namespace)
    del shell["spec"]

    with pytest.raises(Conflict):
        await place.cluster.apply_status(shell | {"status": {"replicas": 1}}, since=as_of(first))


async def test_a_name_is_created_once(place: Place) -> None:
    await place.cluster.create(lease("l", namespace=place.namespace))

    with pytest.raises(Conflict):
        await place.cluster.create(lease("l", namespace=place.namespace))


async def test_only_one_of_two_who_replace_the_same_state_succeeds(place: Place) -> None:
    first = await place.cluster.create(lease("l", namespace=place.namespace))
    await place.cluster.replace(dict(first) | {"spec": {"holderIdentity": "b"}})

    with pytest.raises(Conflict):
        await place.cluster.replace(dict(first) | {"spec": {"holderIdentity": "c"}})

    found = await place.cluster.get(LEASE, place.namespace, "l")
    assert found is not None and found["spec"]["holderIdentity"] == "b"


async def test_annotations_are_set_on_the_state_that_was_seen(place: Place) -> None:
    item = await place.cluster.apply(config("a", namespace=place.namespace))

    after = await place.cluster.merge(
        CONFIG_MAP, place.namespace, "a", annotations_patch(item, {"note": "1"})
    )

    assert after["metadata"]["annotations"] == {"note": "1"}
    with pytest.raises(Conflict):
        await place.cluster.merge(
            CONFIG_MAP, place.namespace, "a", annotations_patch(item, {"note": "2"})
        )


@pytest.mark.parametrize("wrong", ["uid", "resource_version"])
async def test_an_object_that_is_not_meant_is_not_deleted(place: Place, wrong: str) -> None:
    item = await place.cluster.apply(config("a", namespace=place.namespace))
    uid = "another" if wrong == "uid" else item["metadata"]["uid"]
    version = "0" if wrong == "resource_version" else None

    with pytest.raises(Conflict):
        await place.cluster.delete(CONFIG_MAP, place.namespace, "a", Precondition(uid, version))

    assert await place.cluster.get(CONFIG_MAP, place.namespace, "a") is not None


async def test_deleting_what_is_gone_is_done(place: Place) -> None:
    await place.cluster.delete(CONFIG_MAP, place.namespace, "nothing", Precondition("uid"))


async def test_lists_select_by_label_and_have_whole_objects(place: Place) -> None:
    ours = await place.cluster.apply(config("a", namespace=place.namespace, fleet="f"))
    await place.cluster.apply(config("b", namespace=place.namespace))

    listing = await place.cluster.list(CONFIG_MAP, place.namespace, selector=FLEET_LABEL)

    assert listing.items == (ours,)


async def test_lists_select_by_name(place: Place) -> None:
    await place.cluster.create(lease("wanted", namespace=place.namespace))
    await place.cluster.create(lease("other", namespace=place.namespace))

    listing = await place.cluster.list(LEASE, place.namespace, selector="=wanted")

    assert [item["metadata"]["name"] for item in listing.items] == ["wanted"]


async def test_a_watch_tells_what_happened_since_a_list(place: Place) -> None:
    listing = await place.cluster.list(CONFIG_MAP, place.namespace, selector=FLEET_LABEL)
    first = await place.cluster.apply(config("a", namespace=place.namespace, fleet="f", x="1"))
    second = await place.cluster.apply(config("a", namespace=place.namespace, fleet="f", x="2"))
    await place.cluster.apply(config("unlabelled", namespace=place.namespace))
    await place.cluster.delete(CONFIG_MAP, place.namespace, "a", as_of(second))

    changes = await told(place, CONFIG_MAP, since=listing.resource_version, number=3)

    assert [change.type for change in changes] == ["ADDED", "MODIFIED", "DELETED"]
    assert [change.item for change in changes[:2]] == [first, second]
    last = [int(change.item["metadata"]["resourceVersion"]) for change in changes]
    assert last == sorted(set(last))


async def test_an_api_version_that_is_not_served_has_no_kinds(place: Place) -> None:
    assert await place.cluster.kinds("nobody.example/v1") == frozenset()


async def told(place: Place, kind: Kind, *, since: str, number: int) -> list[Change]:
    changes = []
    async with (
        asyncio.timeout(10.0),
        aclosing(
            place.cluster.watch(
                kind, place.namespace, since=since, selector=FLEET_LABEL, silence_seconds=5.0
            )
        ) as stream,
    ):
        async for change in stream:
            changes.append(change)
            if len(changes) == number:
                break
    return changes
