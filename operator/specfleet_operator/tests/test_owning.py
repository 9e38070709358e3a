"""Whose an object is, whatever it is named and labelled."""

from __future__ import annotations

from typing import Any

import pytest

from specfleet_operator.naming import KIND
from specfleet_operator.observed import Object
from specfleet_operator.owning import belonging, is_left_behind, owner_name
from specfleet_operator.tests.objects import config


def owned(name: str, *, by: str, kind: str = KIND, owner: str = "f") -> dict[str, Any]:
    item = config(name, namespace="ns", fleet="f")
    item["metadata"] |= {
        "uid": f"uid-of-{name}",
        "ownerReferences": [{"kind": kind, "name": owner, "uid": by, "controller": True}],
    }
    return item


def test_a_fleets_objects_and_their_objects_belong_to_it() -> None:
    engines = owned("f-main", by="new")
    pod = owned("f-main-0", by="uid-of-f-main", kind="StatefulSet", owner="f-main")
    earlier = owned("f-settings", by="old")
    orphan = config("orphan", namespace="ns", fleet="f")

    assert belonging("new", [pod, earlier, engines, orphan]) == (pod, engines)


@pytest.mark.parametrize(
    ("found", "is_left"),
    [
        pytest.param(owned("a", by="old"), True, id="of-an-earlier-fleet"),
        pytest.param(owned("a", by="new"), False, id="our-own"),
        pytest.param(owned("a", by="old", owner="g"), False, id="of-another-fleet"),
        pytest.param(owned("a", by="old", kind="Deployment"), False, id="of-another-kind"),
        pytest.param(config("a", namespace="ns"), False, id="nobody's"),
    ],
)
def test_only_what_an_earlier_fleet_of_the_name_had_will_be_collected(
    found: Object, is_left: bool
) -> None:
    assert is_left_behind(found, owned("a", by="new")) == is_left


def test_an_owner_is_named_for_people() -> None:
    assert owner_name(owned("a", by="u-1", owner="g")) == "SpeculatorFleet g (uid u-1)"
    assert owner_name(config("a", namespace="ns")) == "somebody else"
