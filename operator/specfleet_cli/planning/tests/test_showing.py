"""How a person reads what would change."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from specfleet_cli.planning.foreseeing import Change, Foreseen
from specfleet_cli.planning.showing import has_changes, lines
from specfleet_common.api.testing import fleet_object


def fleet(generation: int, **changes: Any) -> dict[str, Any]:
    item = fleet_object(**changes)
    item["metadata"] |= {"generation": generation, "uid": "u", "managedFields": [generation]}
    return {**item, "status": {"replicas": generation}}


def settings(steps: int) -> dict[str, Any]:
    data = {"settings.json": json.dumps({"localSteps": steps})}
    return {"kind": "ConfigMap", "metadata": {"name": "tiny-settings"}, "data": data}


NOTHING = Foreseen(
    name="tiny",
    namespace="ml",
    fleet=Change("SpeculatorFleet", "tiny", fleet(1), fleet(1)),
    problem="",
    objects=(),
    pods=(),
    operator_version="1",
)
SCALED = replace(
    NOTHING,
    fleet=Change("SpeculatorFleet", "tiny", fleet(1), fleet(2, spec__replicas=2)),
    pods=(("tiny-main-1", "created"),),
)


def shown(foreseen: Foreseen, *, version: str = "1") -> str:
    return "\n".join(line.plain for line in lines(foreseen, version=version))


def test_no_change_is_one_line() -> None:
    assert not has_changes(NOTHING)
    assert shown(NOTHING) == "fleet tiny in namespace ml: nothing would change."


def test_what_the_api_server_alone_writes_is_no_change() -> None:
    same = replace(NOTHING, fleet=Change("SpeculatorFleet", "tiny", fleet(1), fleet(2)))

    assert not has_changes(same)


def test_a_changed_field_is_shown_as_a_diff() -> None:
    text = shown(SCALED)

    assert has_changes(SCALED)
    assert "--- SpeculatorFleet/tiny\n+++ SpeculatorFleet/tiny\n" in text
    assert "\n+  replicas: 2\n" in text
    assert "managedFields" not in text


def test_a_file_of_json_is_compared_field_by_field() -> None:
    change = Change("ConfigMap", "tiny-settings", settings(100), settings(7))

    text = shown(replace(NOTHING, objects=(change,)))

    assert "\n-    localSteps: 100\n+    localSteps: 7\n" in text
    assert "of its objects 1 changed." in text


def test_new_and_removed_objects_are_counted() -> None:
    new = Change("ConfigMap", "a", None, settings(1))
    gone = Change("ConfigMap", "b", settings(1), None)

    text = shown(replace(NOTHING, objects=(new, gone)))

    assert "--- /dev/null\n+++ ConfigMap/a\n" in text
    assert "--- ConfigMap/b\n+++ /dev/null\n" in text
    assert "of its objects 1 created, 1 removed." in text


def test_pods_are_told_with_what_becomes_of_them() -> None:
    pods = (("tiny-main-0", "replaced"), ("tiny-main-1", "replaced"), ("tiny-main-2", "created"))

    text = shown(replace(SCALED, pods=pods))

    assert "would be replaced one after the other" in text
    assert "finished its requests: tiny-main-0, tiny-main-1." in text
    assert "would be created: tiny-main-2." in text


def test_that_nothing_restarts_is_said() -> None:
    assert shown(SCALED).endswith("\nNo pod would be restarted.")


def test_a_spec_that_the_operator_refuses_is_said_with_its_reason() -> None:
    problem = "EngineImageMissing: spec.engine.image: is missing."

    text = shown(replace(SCALED, problem=problem))

    assert "the operator would not carry this out" in text
    assert text.endswith(problem)


def test_an_operator_of_another_version_is_told_of() -> None:
    assert "The operator is of version 1, this command of 2" in shown(SCALED, version="2")
