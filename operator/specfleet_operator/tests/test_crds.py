"""The CustomResourceDefinitions are what the models say, and say all that users need to know."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from specfleet_common.api.cluster import fleet_from_object
from specfleet_common.api.pods import OWN_VOLUMES
from specfleet_operator.rendering.engine_pod import engine_template
from specfleet_operator.tests.building import subject
from tools.crds.definitions import FLEET, RESOURCES, Resource, definition
from tools.generate_crds import files

EXAMPLES = Path(__file__).parents[3] / "examples"
CLUSTER_EXAMPLES = (
    *("kind.yaml", "single-gpu.yaml", "eight-gpus.yaml"),
    *("external-s3.yaml", "hugging-face.yaml"),
)

KINDS = pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: str(resource.kind))


def version(resource: Resource) -> dict[str, Any]:
    (only,) = definition(resource)["spec"]["versions"]
    return dict(only)


def fields(path: str, schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every field below `path`, with its schema."""
    for name, field in schema.get("properties", {}).items():
        yield f"{path}.{name}", field
        yield from fields(f"{path}.{name}", field)
    for below in ("items", "additionalProperties"):
        if isinstance(schema.get(below), dict):
            yield from fields(f"{path}[]", schema[below])


def all_fields(resource: Resource) -> dict[str, dict[str, Any]]:
    schema = version(resource)["schema"]["openAPIV3Schema"]
    return dict(fields("", schema))


@pytest.mark.parametrize(
    ("path", "text"), [pytest.param(path, text, id=path.name) for path, text in files().items()]
)
def test_generated_files_are_current(path: Path, text: str) -> None:
    written = path.read_text(encoding="utf-8") if path.exists() else None

    assert written == text, f"{path}: run `make generate` and commit the result"


@KINDS
def test_every_field_is_described(resource: Resource) -> None:
    undescribed = [
        path
        for path, field in all_fields(resource).items()
        if not field.get("description") and not path.startswith(".metadata")
    ]

    assert undescribed == []


@KINDS
def test_no_field_is_a_float(resource: Resource) -> None:
    types = {field.get("type") for field in all_fields(resource).values()}

    assert "number" not in types


@KINDS
def test_every_text_list_and_map_is_bounded(resource: Resource) -> None:
    bounds = {"string": "maxLength", "array": "maxItems"}
    unbounded = [
        path
        for path, field in all_fields(resource).items()
        if (bound := bounds.get(field.get("type", ""))) is not None
        and bound not in field
        and "enum" not in field
        and path not in (".apiVersion", ".kind")
    ]

    assert unbounded == []


@KINDS
def test_a_default_can_be_read_in_the_description(resource: Resource) -> None:
    hidden = [
        path
        for path, field in all_fields(resource).items()
        if field.get("default", {}) != {} and "Default: " not in field["description"]
    ]

    assert hidden == []


def test_autoscalers_find_the_replicas_of_the_main_cohort() -> None:
    scale = version(FLEET)["subresources"]["scale"]

    assert scale == {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }


def test_scaling_to_zero_is_within_the_bounds() -> None:
    assert all_fields(FLEET)[".spec.replicas"]["minimum"] == 0


def test_the_names_of_our_own_volumes_are_those_of_the_pods_that_are_rendered() -> None:
    wanted = subject()

    template = engine_template(wanted, wanted.fleet.spec.all_cohorts[0])

    names = {volume["name"] for volume in template["spec"]["volumes"]}
    assert names == set(OWN_VOLUMES)


@KINDS
def test_columns_read_fields_that_exist(resource: Resource) -> None:
    known = {*all_fields(resource), ".metadata.creationTimestamp"}

    for column in resource.columns:
        assert re.sub(r"\[[^]]*\]", "[]", column.path) in known


def test_the_chart_keeps_the_definitions_and_can_leave_them_out() -> None:
    templates = [text for path, text in files().items() if "templates" in path.parts]

    assert len(templates) == len(RESOURCES)
    for text in templates:
        first, *middle, last = text.splitlines()
        assert (first, last) == ("{{- if .Values.crds.install }}", "{{- end }}")
        crd = yaml.safe_load("\n".join(middle))
        assert crd["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}


@pytest.mark.parametrize("name", CLUSTER_EXAMPLES)
def test_an_example_for_clusters_is_a_fleet_that_a_cluster_can_run(name: str) -> None:
    document = yaml.safe_load((EXAMPLES / name).read_text(encoding="utf-8"))

    fleet = fleet_from_object(document)

    assert sum(cohort.replicas for cohort in fleet.spec.all_cohorts) > 0
    assert any(cohort.train for cohort in fleet.spec.all_cohorts)


def test_every_example_is_tested() -> None:
    local = {"fleet.yaml", "demo.yaml"}

    assert {path.name for path in EXAMPLES.glob("*.yaml")} == {*CLUSTER_EXAMPLES, *local}
