"""Operator and API server judge alike: what one refuses the other refuses, and the other way.

Left out is null, which the server takes for an absent field, and numbers such as 2.0, which are
integers to it.
"""

from __future__ import annotations

import string
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from specfleet_common.api.testing import fleet_object
from specfleet_operator.tests.crds import CLAIM, HOST, HUB, S3, CustomResources, as_written

VALUES: dict[str, list[Any]] = {
    "metadata__name": ["a", "a-b", "a.b", "A", "-a", "a-", "9a", "x" * 40, "x" * 41, ""],
    "spec__target__model": ["a", "./a/b", "a/..", "..a", "/a", "a/../b", "", "x" * 4097],
    "spec__target__source": [
        HOST,
        CLAIM,
        HUB,
        {**HUB, **CLAIM},
        {"huggingFace": {"revision": "main"}},
        {"huggingFace": {**HUB["huggingFace"], "tokenSecretRef": {"name": "hub"}}},
        {},
        None,
        {"hostPath": {"path": "models"}},
        {"x": 1},
    ],
    "spec__target__dtype": ["float32", "bfloat16", "float16", 1],
    "spec__target__maxModelLen": [16, 15, 1 << 24, (1 << 24) + 1, "512"],
    "spec__drafter__family": ["mtp", "eagle3", None],
    "spec__drafter__numSpeculativeTokens": [0, 1, 3, 8, 9, "3"],
    "spec__replicas": [0, 1, 256, 257, -1, "1", True],
    "spec__train": [True, False, "yes", 0],
    "spec__serve": ["Stock", "Local", "local", 1],
    "spec__cohorts": [
        [],
        [{"name": "a"}],
        [{"name": "main"}],
        [{"name": "aggregator"}],
        [{"name": "a"}, {"name": "a"}],
        [{}],
        [{"name": "a", "replicas": 257}],
        [{"name": f"c{n}"} for n in range(16)],
        [{"name": f"c{n}"} for n in range(17)],
        {"name": "a"},
    ],
    "spec__engine__image": ["a/b:c@sha256:0", "", "A", "a b", "x" * 513],
    "spec__engine__sharedMemory": ["192Mi", "191Mi", "1Gi", 0, 1 << 28, "1e9", "1E", "1 Gi", True],
    "spec__engine__drainSeconds": [0, 86_400, 86_401, -1, "1"],
    "spec__engine__cacheVolume": [
        {"persistentVolumeClaim": {"claimName": "c"}},
        {},
        {"persistentVolumeClaim": {"claimName": "C"}},
    ],
    "spec__engine__resources__limits": [
        {"cpu": "1"},
        {"cpu": 1},
        {"cpu": "500m", "memory": "1.5Gi"},
        {"cpu": "-1"},
        {"cpu": -1},
        {"cpu": 0.5},
        {"cpu": "1.1234567891"},
        {"cpu": "0x1"},
        {"cpu": "1e-3"},
        {"cpu": ".5"},
        {str(n): n for n in range(17)},
    ],
    "spec__trainer__resources__limits": [{"memory": "512Mi"}, {"memory": "511Mi"}, {"cpu": 1}],
    "spec__engine__pod__labels": [
        {"a": "b"},
        {"a/b": "c"},
        {"/b": "c"},
        {"a/": "c"},
        {"a/b/c": "d"},
        {"a": "b c"},
        {"specfleet.dev/x": "a"},
        {"app.kubernetes.io/name": "a"},
        {"k" * 64: "v"},
        {"k": "v" * 64},
        {f"k{n}": "v" for n in range(33)},
        {"a\n": "b"},
        {"a": "b\n"},
    ],
    "spec__engine__pod__annotations": [
        {"a": "any text\n"},
        {"specfleet.dev/x": ""},
        {"a b": ""},
        {"a": 1},
    ],
    "spec__engine__pod__imagePullSecrets": [
        [{"name": "a"}],
        [{}],
        [{"name": "A"}],
        [{"name": "a"}, {"name": "b"}],
        [{"name": "a"}, {"name": "a"}],
    ],
    "spec__engine__env": [
        [{"name": "A", "value": ""}],
        [{"name": "A"}],
        [{"name": "1", "value": ""}],
        [{"name": "A", "value": "x"}, {"name": "A", "value": "y"}],
        [{"name": "PYTHONUNBUFFERED", "value": ""}],
        [{"name": "A", "value": 1}],
        [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
        [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s"}}}],
        [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "a b"}}}],
        [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}}],
        [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}}],
        [{"name": "A", "valueFrom": {}}],
        [{"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        [{"name": "PYTHONPATH", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    ],
    "spec__aggregation__tlsSecretRef": [{"name": "tls"}, {"name": "T"}, {}, "tls"],
    "spec__engine__pod__volumes": [
        [{"name": "a", "x": {"y": [1, 0.5]}}],
        [{"name": "shm"}],
        [{"name": "a"}, {"name": "a"}],
        [{"name": ""}],
        [{"name": 1}],
        [{"name": "n" * 64}],
        [{}],
        ["a"],
    ],
    "spec__engine__pod__affinity": [{}, {"a": {"b": [1, "c", 0.5, True]}}, [], "a"],
    "spec__engine__pod__tolerations": [[], [{"operator": "Exists"}], ["a"], [{}] * 33],
    "spec__trainer__learningRate": ["0.001", "0", "1", "0.0", 0.1, "0.1e1", "0.1\n"],
    "spec__trainer__depthWeighting": ["Fixed", "DPACE", "dpace"],
    "spec__trainer__depthWeights": [
        ["1", "1", "1"],
        ["1"],
        [],
        ["1"] * 8,
        ["1"] * 9,
        ["1", "0", "1"],
        ["1", 1, "1"],
        "DPACE",
    ],
    "spec__trainer__capture": [{}, {"holdoutPercent": 90}, {"holdoutPercent": 91}, {"x": 1}],
    "spec__trainer__publishEverySteps": [0, 1_000_001],
    "spec__aggregation__quorum": [{"minimum": 0}, {"percent": 100}, {"percent": 101}],
    "spec__aggregation__outer": [{"momentum": "0"}, {"momentum": "1"}, {"learningRate": "0"}],
    "spec__aggregation__codec": ["Int8", "int8"],
    "spec__aggregation__combine": ["TrimmedMean", "Median"],
    "spec__aggregation__leaseSeconds": [0, 1, 86_400, 86_401],
    "spec__promotion__mode": ["Manual", "manual"],
    "spec__promotion__pin": [0, 7, -1, "7"],
    "spec__promotion__minimumGain": ["0%", "0.5%", "99.999999%", "100%", "0.5", "-1%", 0.5, "1%\n"],
    "spec__promotion__falsePromotion": ["5%", "0%", "0.0%", "0.000001%", "0.0000001%", "1.5 %"],
    "spec__promotion__minimumRounds": [0, 1, 1_000_000, 1_000_001],
    "spec__promotion__canary": [
        {},
        {"engines": 0},
        {"engines": 65},
        {"blockSeconds": 1},
        {"blockSeconds": 3600, "maxSeconds": 7200},
        {"blockSeconds": 3600},
        {"blockSeconds": 20, "maxSeconds": 39},
        {"x": 1},
    ],
    "spec__promotion__rollout": [{"enginesAtOnce": 0}, {"pauseSeconds": 0}, {"pauseSeconds": -1}],
    "spec__promotion__guards": [{"tpot": "0%"}, {"ttft": "50%", "errors": "0.1%"}, {"x": "1%"}],
    "spec__promotion__historyLimit": [0, 1, 100, 101],
    "spec__store": [
        {"s3": S3},
        {},
        {"directory": {"path": "/x"}},
        {"s3": {**S3, "caFile": "x"}},
        {"s3": {**S3, "caSecretRef": {"name": "x"}}},
        {"s3": {**S3, "caSecretRef": {"name": "x", "key": "a b"}}},
        {"s3": {**S3, "bucket": "x"}},
        {"s3": {**S3, "prefix": "a/b"}},
        {"s3": {**S3, "prefix": "a//b"}},
        {"s3": {**S3, "prefix": "a" * 401}},
        {"s3": {**S3, "region": ""}},
        {"s3": {**S3, "endpoint": "http://[::1]:9000"}},
        {"s3": {**S3, "endpoint": "http://a/b"}},
        {"s3": {**S3, "addressing": "Path"}},
        {"s3": {**S3, "addressing": "path"}},
    ],
    "spec__networkPolicy": [{}, {"ingressFrom": []}, {"egressTo": [{"a": 1}]}, {"egressTo": [1]}],
    "spec__more": [1],
}

CHANGES = st.lists(
    st.sampled_from(sorted(VALUES)).flatmap(
        lambda path: st.tuples(st.just(path), st.sampled_from(VALUES[path]))
    ),
    max_size=3,
).map(dict)
MANY = settings(
    max_examples=100,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def is_taken(document: dict[str, Any]) -> bool:
    try:
        as_written(document)
    except ValueError:
        return False
    return True


NAMES = (
    *("--model", "--m", "--mo", "--models", "-tp", "-dpx", "--data-parallel-x", "--", "-n", "x"),
    *("--nn", "-", "--served_model_name", "--max-num-seqs", "--spec", "--config"),
)
ENDS = st.text("-_=. \t\u00a0\u2003\x1f", max_size=2)
ARGUMENTS = st.tuples(ENDS, st.sampled_from(NAMES), ENDS).map("".join) | st.text(
    string.printable, min_size=1, max_size=8
).map(lambda text: f"-{text}")
EACH = [
    pytest.param({path: value}, id=f"{path}-{number}")
    for path, values in VALUES.items()
    for number, value in enumerate(values)
]


@pytest.mark.parametrize("changes", EACH)
def test_server_and_operator_judge_a_value_alike(
    api: CustomResources, changes: dict[str, Any]
) -> None:
    document = fleet_object(**changes)

    assert (api.refusal(document) is None) == is_taken(document)


@given(CHANGES)
@MANY
def test_server_and_operator_judge_a_fleet_alike(
    api: CustomResources, changes: dict[str, Any]
) -> None:
    document = fleet_object(**changes)

    assert (api.refusal(document) is None) == is_taken(document)


@given(ARGUMENTS)
@example("--model.x=--port")
@example("--MODEL")
@MANY
def test_server_and_operator_judge_an_argument_alike(api: CustomResources, argument: str) -> None:
    document = fleet_object(spec__engine__args=[argument])

    assert (api.refusal(document) is None) == is_taken(document)


@given(st.from_regex(r"\A[0-9]{1,4}(\.[0-9]{1,3})?([a-zA-Z]{0,2}|[eE][+-]?[0-9]{1,2})\Z"))
@MANY
def test_server_and_operator_judge_a_quantity_alike(api: CustomResources, quantity: str) -> None:
    document = fleet_object(spec__engine__sharedMemory=quantity)

    assert (api.refusal(document) is None) == is_taken(document)
