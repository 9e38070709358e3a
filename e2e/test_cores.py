"""Engines leave a core to the trainers."""

from __future__ import annotations

from typing import Any

import pytest

from e2e.cores import bind, binding


@pytest.mark.parametrize(
    ("cores", "engines", "expected"),
    [
        pytest.param({0, 1}, 2, "0", id="two-cores-are-too-few-for-two-engines"),
        pytest.param({4, 5}, 3, "4", id="the-first-of-those-that-are-there"),
        pytest.param({0, 1, 2}, 2, "nobind", id="one-core-is-left-anyway"),
        pytest.param({0}, 1, "0", id="a-single-core"),
    ],
)
def test_binding(cores: set[int], engines: int, expected: str) -> None:
    assert binding(cores, engines) == expected


def test_binding_replaces_what_the_manifest_said_and_nothing_else() -> None:
    spec: dict[str, Any] = {
        "cohorts": [{"replicas": 1}, {"replicas": 1}],
        "engine": {
            "env": [
                {"name": "VLLM_CPU_OMP_THREADS_BIND", "value": "nobind"},
                {"name": "OMP_NUM_THREADS", "value": "1"},
            ]
        },
    }

    bind(spec, {0, 1})

    assert {one["name"]: one["value"] for one in spec["engine"]["env"]} == {
        "VLLM_CPU_OMP_THREADS_BIND": "0",
        "OMP_NUM_THREADS": "1",
    }
