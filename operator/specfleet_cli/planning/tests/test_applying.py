"""What is sent is what `kubectl apply` would send."""

from __future__ import annotations

import json
from typing import Any

import pytest

from specfleet_cli.planning.applying import APPLY, LAST_APPLIED, MERGE, patch_of, three_way
from specfleet_cli.planning.manifests import PlanError


@pytest.mark.parametrize(
    ("before", "wanted", "live", "patch"),
    [
        pytest.param({"a": 1}, {"a": 2}, {"a": 1}, {"a": 2}, id="changed"),
        pytest.param({"a": 1}, {}, {"a": 1}, {"a": None}, id="removed"),
        pytest.param({}, {}, {"a": 1}, {}, id="set-by-somebody-else"),
        pytest.param({"a": 1}, {}, {}, {}, id="gone-already"),
        pytest.param({}, {"a": 1}, {"b": 2}, {"a": 1}, id="added"),
        pytest.param({"a": 1}, {"a": 1}, {"a": 3}, {"a": 1}, id="taken-back"),
        pytest.param(
            {"s": {"a": 1, "b": 1}},
            {"s": {"b": 2}},
            {"s": {"a": 1, "b": 1, "c": 1}},
            {"s": {"a": None, "b": 2}},
            id="inside",
        ),
        pytest.param({"l": [1, 2]}, {"l": [1]}, {"l": [1, 2]}, {"l": [1]}, id="lists-are-whole"),
    ],
)
def test_three_way(before: Any, wanted: Any, live: Any, patch: Any) -> None:
    assert three_way(before, wanted, live) == patch


MANIFEST = {
    "apiVersion": "specfleet.dev/v1alpha1",
    "kind": "SpeculatorFleet",
    "metadata": {"name": "tiny"},
    "spec": {"replicas": 2},
}


def test_an_object_that_the_client_applied_is_patched() -> None:
    applied = {**MANIFEST, "spec": {"replicas": 2, "train": False}}
    metadata = {"name": "tiny", "annotations": {LAST_APPLIED: json.dumps(applied)}}
    live = {**applied, "metadata": metadata}

    patch = patch_of(live, MANIFEST)

    assert patch.content_type == MERGE
    assert patch.body == {**MANIFEST, "spec": {"train": None}}


def test_any_other_object_is_applied_by_the_server() -> None:
    patch = patch_of({**MANIFEST, "metadata": {"name": "tiny", "uid": "1"}}, MANIFEST)

    assert (patch.content_type, patch.body) == (APPLY, MANIFEST)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000])
def test_an_object_that_does_not_say_what_was_applied_last_is_named(text: str) -> None:
    live = {"metadata": {"name": "tiny", "annotations": {LAST_APPLIED: text}}}

    with pytest.raises(PlanError, match="expected the JSON of what kubectl applied last"):
        patch_of(live, MANIFEST)
