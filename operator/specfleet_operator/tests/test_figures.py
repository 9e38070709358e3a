from __future__ import annotations

from collections.abc import Callable
from typing import Any

from prometheus_client import CollectorRegistry

from specfleet_operator.figures import FleetFigures
from specfleet_operator.kinds import FLEET
from specfleet_operator.observed import Object
from specfleet_operator.store import FleetKey, Store


def fleet(name: str, *, namespace: str = "ai", **conditions: str) -> Object:
    return {
        "apiVersion": FLEET.api_version,
        "kind": FLEET.name,
        "metadata": {"namespace": namespace, "name": name, "uid": name, "resourceVersion": "1"},
        "status": {
            "conditions": [{"type": kind, "status": status} for kind, status in conditions.items()]
        },
    }


def store_of(*fleets: Object) -> Store:
    store = Store()
    for item in fleets:
        store.put(item)
    return store


def shown(
    fleets: Store,
    *,
    works_in: Callable[[str], bool] = lambda namespace: True,
    ends: dict[FleetKey, float] | None = None,
) -> dict[tuple[str, ...], float]:
    registry = CollectorRegistry()
    registry.register(FleetFigures(fleets, works_in, ends or {}))
    return {
        tuple(sample.labels.values()): sample.value
        for family in registry.collect()
        for sample in family.samples
    }


def test_the_status_of_a_condition_is_one_of_three() -> None:
    assert shown(store_of(fleet("hindi", Ready="Unknown"))) == {
        ("ai", "hindi", "Ready", "True"): 0.0,
        ("ai", "hindi", "Ready", "False"): 0.0,
        ("ai", "hindi", "Ready", "Unknown"): 1.0,
    }


def test_a_fleet_that_nobody_looked_at_yet_has_no_conditions() -> None:
    new: dict[str, Any] = {**fleet("new"), "status": None}

    assert shown(store_of(new)) == {}


def test_conditions_are_gone_with_their_fleet() -> None:
    one, two = fleet("one", Ready="True"), fleet("two", Ready="True")
    fleets = store_of(one, two)

    fleets.remove(two)

    assert {labels[1] for labels in shown(fleets)} == {"one"}


def test_certificates_end() -> None:
    assert shown(Store(), ends={FleetKey("ai", "hindi"): 1.9e9}) == {("ai", "hindi"): 1.9e9}


def test_fleets_of_others_are_not_shown() -> None:
    fleets = store_of(fleet("ours", Ready="True"), fleet("x", namespace="theirs", Ready="True"))
    ends = {FleetKey("theirs", "x"): 1.9e9}

    found = shown(fleets, works_in=lambda namespace: namespace == "ai", ends=ends)

    assert {labels[0] for labels in found} == {"ai"}
