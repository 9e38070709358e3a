"""The newest state of every object wins, in whatever order states arrive."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from specfleet_operator.kinds import kind_of
from specfleet_operator.store import MOST_DELETED, FleetKey, Store
from specfleet_operator.tests.objects import config

CONFIG_MAP = kind_of("v1", "ConfigMap")
FLEET = FleetKey("ns", "f")


def an_object(name: str = "a", *, version: int, fleet: str = "f") -> dict[str, Any]:
    item = config(name, namespace="ns", fleet=fleet)
    item["metadata"]["resourceVersion"] = str(version)
    return item


def test_an_object_is_found_by_its_fleet() -> None:
    store = Store()

    changed = store.put(an_object(version=1))

    assert changed == {FLEET}
    assert store.of_fleet(FLEET) == (an_object(version=1),)


def test_an_object_that_moves_to_another_fleet_changes_both() -> None:
    store = Store()
    store.put(an_object(version=1))

    changed = store.put(an_object(version=2, fleet="g"))

    assert changed == {FLEET, FleetKey("ns", "g")}
    assert store.of_fleet(FLEET) == ()


def test_what_is_known_already_changes_nothing() -> None:
    store = Store()
    store.put(an_object(version=2))

    assert store.put(an_object(version=2)) == frozenset()
    assert store.put(an_object(version=1)) == frozenset()
    assert store.remove(an_object(version=1)) == frozenset()


def test_a_late_answer_does_not_bring_back_what_was_deleted() -> None:
    store = Store()
    store.put(an_object(version=1))
    store.remove(an_object(version=3))

    store.put(an_object(version=2))

    assert store.of_fleet(FLEET) == ()


def test_what_a_list_does_not_have_is_gone_unless_it_is_newer() -> None:
    store = Store()
    store.put(an_object("old", version=1))
    store.put(an_object("newer", version=9))

    changed = store.replace(CONFIG_MAP, None, [], resource_version="5")

    assert changed == {FLEET}
    assert store.of_fleet(FLEET) == (an_object("newer", version=9),)


def test_a_list_of_one_namespace_says_nothing_about_others() -> None:
    store = Store()
    store.put(an_object(version=1))

    store.replace(CONFIG_MAP, "another", [], resource_version="5")

    assert store.of_fleet(FLEET) == (an_object(version=1),)


@given(st.permutations(range(1, 7)), st.integers(1, 6))
def test_every_order_of_the_same_news_ends_in_the_same_state(
    order: list[int], deleted_at: int
) -> None:
    store = Store()

    for version in order:
        item = an_object(version=version)
        if version == deleted_at:
            store.remove(item)
        else:
            store.put(item)

    newest = () if deleted_at == 6 else (an_object(version=6),)
    assert store.of_fleet(FLEET) == newest


def test_of_what_was_deleted_no_more_than_so_much_is_remembered() -> None:
    store = Store()

    for number in range(MOST_DELETED + 100):
        store.remove(an_object(f"o-{number}", version=number + 1))

    assert len(store._deleted) == MOST_DELETED
    store.put(an_object(f"o-{MOST_DELETED + 99}", version=1))
    assert store.of_fleet(FLEET) == ()


def test_what_nobody_follows_any_more_is_dropped() -> None:
    store = Store()
    store.put(an_object(version=1))

    store.drop(CONFIG_MAP)

    assert store.of_fleet(FLEET) == ()
