"""The program that others ask: what it takes, and what it needs."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from specfleet_operator.preview.__main__ import answer
from specfleet_operator.preview.installed import NoOperator, facts_of, operator_of
from specfleet_operator.tests.building import fleet

PREFIX = "SPECFLEET_OPERATOR_"


def deployment(name: str = "specfleet", **settings: str) -> dict[str, Any]:
    images = {"AGENT_IMAGE": "agent:1", "AGGREGATOR_IMAGE": "aggregator:1"}
    variables: list[dict[str, Any]] = [
        {"name": f"{PREFIX}{key}", "value": value} for key, value in (images | settings).items()
    ]
    field = {"fieldRef": {"fieldPath": "metadata.name"}}
    variables.append({"name": f"{PREFIX}POD_NAME", "valueFrom": field})
    container = {"name": "operator", "env": variables}
    return {
        "metadata": {"name": name, "namespace": "system", "labels": {}},
        "spec": {"template": {"spec": {"serviceAccountName": "op", "containers": [container]}}},
    }


def test_what_the_operator_was_installed_with_shapes_the_pods() -> None:
    found = facts_of(deployment(DEFAULT_ENGINE_IMAGE="vllm:9", CLUSTER_DOMAIN="x"), ["PodMonitor"])

    assert (found.namespace, found.service_account, found.cluster_domain) == ("system", "op", "x")
    assert (found.images.agent, found.images.default_engine) == ("agent:1", "vllm:9")
    assert found.optional_kinds == {"PodMonitor"}


def test_an_operator_of_the_namespace_comes_before_one_of_all() -> None:
    everywhere, ours = deployment("everywhere"), deployment("ours", NAMESPACES="a,ml")

    assert operator_of([everywhere, ours], "ml") is ours
    assert operator_of([everywhere, ours], "b") is everywhere


@pytest.mark.parametrize(
    ("deployments", "words"),
    [
        pytest.param([], "no operator serves its fleets", id="none"),
        pytest.param([deployment(NAMESPACES="a")], "no operator serves", id="of-others"),
        pytest.param([deployment("a"), deployment("b")], "2 operators (system/a, sy", id="two"),
    ],
)
def test_without_one_operator_nothing_is_foreseen(deployments: list[Any], words: str) -> None:
    with pytest.raises(NoOperator) as caught:
        operator_of(deployments, "ml")

    assert words in str(caught.value)


def test_objects_of_an_earlier_fleet_of_the_name_do_not_count() -> None:
    item = fleet()
    owner = {"uid": "another", "controller": True, "kind": "SpeculatorFleet", "name": "demo"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "demo-main-0", "uid": "1", "ownerReferences": [owner]},
    }
    question: dict[str, Any] = {
        "deployments": [deployment()],
        "kinds": [],
        "before": None,
        "after": item,
    }
    item["spec"]["engine"] = {"image": "vllm:1"}

    told = answer(question | {"children": [pod]})

    assert {"name": "demo-main-0", "fate": "created"} in told["pods"]


def test_the_program_needs_nothing_that_a_command_line_lacks() -> None:
    lacking = ["aiohttp", "cryptography", "kopf", "prometheus_client", "pydantic_settings"]
    code = (
        "import sys, specfleet_operator.preview.__main__ as program\n"
        f"print([name for name in {lacking} if name in sys.modules])\n"
        "program.main()"
    )
    question: dict[str, Any] = {
        "deployments": [],
        "kinds": [],
        "before": None,
        "after": fleet(),
        "children": [],
    }

    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(question),
        capture_output=True,
        text=True,
        check=True,
    )

    loaded, told = done.stdout.split("\n", 1)
    assert loaded == "[]"
    assert "no operator serves" in json.loads(told)["error"]
