"""A cluster-wide operator leaves namespaces alone that a namespaced one has marked."""

from __future__ import annotations

from specfleet_operator.claiming import CLAIM_LEASE, MarkedTerritory, UnmarkedTerritory
from specfleet_operator.store import Store
from specfleet_operator.testing import FakeCluster
from specfleet_operator.tests.clocks import Clock
from specfleet_operator.tests.objects import lease
from specfleet_operator.tests.test_leading import holder


def marks(*, version: int, holder: str = "team/specfleet-operator") -> Store:
    store = Store()
    mark(store, version=version, holder=holder)
    return store


def mark(store: Store, *, version: int, holder: str = "team/specfleet-operator") -> None:
    item = lease(CLAIM_LEASE, namespace="team", holder=holder, seconds=30)
    item["metadata"]["resourceVersion"] = str(version)
    store.put(item)


def test_a_marked_namespace_is_left_alone() -> None:
    territory = UnmarkedTerritory(marks(version=1), Clock())

    assert not territory.has("team")
    assert territory.has("another")


def test_a_namespace_is_taken_back_when_its_mark_has_not_changed_for_its_length() -> None:
    clock = Clock()
    territory = UnmarkedTerritory(marks(version=1), clock)
    territory.has("team")

    clock.now += 30.1

    assert territory.has("team")


def test_a_mark_that_is_renewed_stays() -> None:
    clock, store = Clock(), marks(version=1)
    territory = UnmarkedTerritory(store, clock)
    territory.has("team")
    clock.now += 20.0
    mark(store, version=2)
    territory.has("team")

    clock.now += 20.0

    assert not territory.has("team")


def test_a_mark_that_was_given_back_marks_nothing() -> None:
    territory = UnmarkedTerritory(marks(version=1, holder=""), Clock())

    assert territory.has("team")


async def test_only_a_namespace_whose_mark_is_ours_is_ours() -> None:
    cluster, clock = FakeCluster(), Clock()
    ours, theirs = holder(cluster, "ours", clock), holder(cluster, "theirs", clock)
    territory = MarkedTerritory({"team": ours})
    assert not territory.has("team")

    await ours.try_to_hold()
    await theirs.try_to_hold()

    assert territory.has("team")
    assert not MarkedTerritory({"team": theirs}).has("team")
