"""The chart's values: all are described, wrong ones are refused with words that help."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from specfleet_operator.tests.charts import (
    CHART,
    OLDEST_KUBERNETES,
    Helm,
    HelmRefused,
    of_kind,
    only,
)

VALUES = CHART / "values.yaml"
SCHEMA = CHART / "values.schema.json"
PROJECT = CHART.parents[1] / "pyproject.toml"


def test_the_chart_passes_helms_own_lint(helm: Helm) -> None:
    report = helm.run("lint", "--strict", CHART)

    assert "1 chart(s) linted, 0 chart(s) failed" in report


def test_the_chart_has_the_version_of_the_distribution() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = tomllib.loads(PROJECT.read_text())["project"]

    assert chart["appVersion"] == project["version"]
    assert chart["kubeVersion"] == f">={OLDEST_KUBERNETES}-0"
    assert chart["version"] == re.sub(r"\.dev", "-dev.", project["version"])


def test_every_value_has_a_comment_above_it() -> None:
    lines = VALUES.read_text().splitlines()
    keys = [
        (number, line)
        for number, line in enumerate(lines)
        if re.match(r" *[A-Za-z]+:", line) and not inside_default(lines, number)
    ]
    bare = [
        line.strip()
        for number, line in keys
        if not lines[number - 1].lstrip().startswith("#") and not opens_a_group(line)
    ]

    assert keys
    assert bare == []


def test_the_schema_knows_exactly_the_values_there_are() -> None:
    schema = json.loads(SCHEMA.read_text())
    values = yaml.safe_load(VALUES.read_text())

    assert set(closed_paths(schema, schema)) - {"global"} == set(value_paths(values, schema))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        pytest.param(
            {"operator": {"repliacs": 3}},
            "at '/operator': additional properties 'repliacs' not allowed",
            id="typo",
        ),
        pytest.param(
            {"watchNamespace": ["a"]},
            "additional properties 'watchNamespace' not allowed",
            id="typo-at-the-top",
        ),
        pytest.param(
            {"operator": {"replicas": "two"}},
            "at '/operator/replicas': got string, want integer",
            id="type",
        ),
        pytest.param(
            {"images": {"pullPolicy": "Sometimes"}},
            "at '/images/pullPolicy': value must be one of 'Always', 'IfNotPresent', 'Never'",
            id="choice",
        ),
        pytest.param(
            {"images": {"agent": {"digest": "latest"}}},
            "at '/images/agent/digest': 'latest' does not match pattern",
            id="digest",
        ),
        pytest.param(
            {"watchNamespaces": ["a", "a"]},
            "at '/watchNamespaces': items at 0 and 1 are equal",
            id="namespace-twice",
        ),
        pytest.param(
            {"operator": {"leaseSeconds": 1}},
            "at '/operator/leaseSeconds': minimum: got 1, want 3",
            id="bound",
        ),
    ],
)
def test_a_wrong_value_is_named(helm: Helm, values: Mapping[str, Any], words: str) -> None:
    with pytest.raises(HelmRefused) as refused:
        helm.text(values)

    assert words in str(refused.value)


def test_values_that_a_parent_chart_hands_down_are_taken(helm: Helm) -> None:
    assert helm.objects({"global": {"anything": 1}}) == helm.objects()


def test_an_image_has_registry_tag_and_digest(helm: Helm) -> None:
    digest = "sha256:" + "0" * 64
    values = {
        "images": {
            "registry": "registry.example.com:5000/team",
            "operator": {"repository": "operator", "tag": "v2", "digest": digest},
        }
    }

    pod = only(helm.objects(values), "Deployment")["spec"]["template"]["spec"]

    image = pod["containers"][0]["image"]
    assert image == f"registry.example.com:5000/team/operator:v2@{digest}"


def test_images_come_from_one_registry_alone(helm: Helm) -> None:
    rendered = helm.text({"images": {"registry": "registry.example.com"}})

    images = re.findall(r"(\S*specfleet-(?:operator|agent|aggregator):\S+)", rendered)
    assert len(images) == 4  # the operator, its test, and two that it gives to fleets
    assert all(image.startswith("registry.example.com/specfleet-") for image in images)


@pytest.mark.parametrize("kind", ["ServiceMonitor", "PodMonitor"])
def test_a_monitor_without_its_api_is_refused(helm: Helm, kind: str) -> None:
    value = kind[0].lower() + kind[1:]

    with pytest.raises(HelmRefused) as refused:
        helm.text({"metrics": {value: {"enabled": True}}})

    assert f"metrics.{value}.enabled is true, but this cluster has no kind {kind}" in str(
        refused.value
    )


def test_two_monitors_of_the_same_pods_are_refused(helm: Helm) -> None:
    enabled = {"enabled": True}

    with pytest.raises(HelmRefused, match="both true, which would count everything twice"):
        helm.text({"metrics": {"serviceMonitor": enabled, "podMonitor": enabled}})


@pytest.mark.parametrize("kind", ["ServiceMonitor", "PodMonitor"])
def test_a_monitor_selects_the_operator(helm: Helm, kind: str) -> None:
    value = kind[0].lower() + kind[1:]
    values = {"metrics": {value: {"enabled": True, "labels": {"release": "prometheus"}}}}

    objects = helm.objects(values, flags=["--api-versions", f"monitoring.coreos.com/v1/{kind}"])

    monitor = only(objects, kind)
    selected = monitor["spec"]["selector"]["matchLabels"].items()
    deployment = only(objects, "Deployment")
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    [endpoint] = monitor["spec"].get("endpoints") or monitor["spec"]["podMetricsEndpoints"]
    assert endpoint["honorLabels"]
    assert selected <= only(objects, "Service")["metadata"]["labels"].items()
    assert selected <= deployment["spec"]["template"]["metadata"]["labels"].items()


def test_objects_of_the_users_own_are_installed_with_the_release(helm: Helm) -> None:
    rule = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "{{ .Release.Name }}-mine"},
    }

    objects = helm.objects({"extraObjects": [rule]}, release="ours")

    assert [item["metadata"]["name"] for item in of_kind(objects, "ConfigMap")] == ["ours-mine"]


def test_one_replica_has_no_disruption_budget_that_would_block_drains(helm: Helm) -> None:
    assert of_kind(helm.objects({"operator": {"replicas": 1}}), "PodDisruptionBudget") == ()


def inside_default(lines: list[str], number: int) -> bool:
    """Say whether a line belongs to the default of a value: lists and resources."""
    indent = len(lines[number]) - len(lines[number].lstrip())
    for line in reversed(lines[:number]):
        above = len(line) - len(line.lstrip())
        if line.strip() and above < indent:
            if line.lstrip().startswith("- ") or line.strip() == "resources:":
                return True
            indent = above
    return False


def opens_a_group(line: str) -> bool:
    """Say whether what follows the key is a group of values, each with its comment."""
    return line.rstrip().endswith(":")


def closed_paths(
    schema: Mapping[str, Any], root: Mapping[str, Any], above: str = ""
) -> Iterator[str]:
    """Yield the path of every value below objects that take no other."""
    if "$ref" in schema:
        schema = root["definitions"][schema["$ref"].rpartition("/")[2]]
    if schema.get("additionalProperties", True) is not False or above.endswith("resources"):
        yield above
        return
    for name, below in schema["properties"].items():
        yield from closed_paths(below, root, f"{above}.{name}".lstrip("."))


def value_paths(
    values: Mapping[str, Any], root: Mapping[str, Any], above: str = ""
) -> Iterator[str]:
    """Yield the path of every value, as far down as the schema is closed."""
    known = set(closed_paths(root, root))
    for name, value in values.items():
        path = f"{above}.{name}".lstrip(".")
        if isinstance(value, Mapping) and path not in known:
            yield from value_paths(value, root, path)
        else:
            yield path
