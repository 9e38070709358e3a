"""What a real API server takes as a fleet, what it refuses, in which words, and what it shows."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from specfleet_common.api.testing import fleet_object
from specfleet_operator.tests.crds import (
    CLAIM,
    HOST,
    HUB,
    S3,
    CustomResources,
    as_written,
    conditions,
)
from specfleet_operator.tests.test_crds import CLUSTER_EXAMPLES, EXAMPLES, KINDS
from tools.crds.definitions import Resource


@KINDS
def test_the_schema_is_structural_and_served(api: CustomResources, resource: Resource) -> None:
    found = conditions(api, resource)

    assert found["Established"] == "True"
    assert found["NamesAccepted"] == "True"
    assert "NonStructuralSchema" not in found


FIELD = {"fieldRef": {"fieldPath": "metadata.name"}}
GOOD = [
    pytest.param({}, id="smallest"),
    pytest.param({"spec__target__source": CLAIM}, id="claim"),
    pytest.param(
        {"spec__target__source": {"persistentVolumeClaim": {"claimName": "a.b", "path": "x/y"}}},
        id="path-of-a-claim",
    ),
    pytest.param({"spec__target": {"model": "owner/name", "source": HUB}}, id="hub"),
    pytest.param({"spec__replicas": 0}, id="no-engines"),
    pytest.param({"spec__cohorts": [{"name": "a"}, {"name": "b", "serve": "Local"}]}, id="cohorts"),
    pytest.param({"spec__trainer__depthWeights": ["1", "0.5", "0.25"]}, id="depth-weights"),
    pytest.param({"spec__trainer__depthWeighting": "DPACE"}, id="dpace"),
    pytest.param(
        {"spec__engine__resources": {"limits": {"cpu": 2, "memory": "1.5Gi", "nvidia.com/gpu": 1}}},
        id="quantities",
    ),
    pytest.param({"spec__trainer__resources": {"limits": {"memory": "1e9"}}}, id="exponent"),
    pytest.param({"spec__engine__sharedMemory": 268435456}, id="shared-memory-in-bytes"),
    pytest.param({"spec__engine__args": ["--max-num-seqs", "16", "-O3", "text, free"]}, id="args"),
    pytest.param(
        {"spec__engine__pod__volumes": [{"name": "data", "hostPath": {"path": "/data"}}]},
        id="volume",
    ),
    pytest.param({"spec__engine__pod__labels": {"example.com/team": "a", "Tier": ""}}, id="labels"),
    pytest.param(
        {
            "spec__engine__pod__affinity": {"nodeAffinity": {"x": [{"y": 1}]}},
            "spec__engine__pod__tolerations": [{"operator": "Exists", "tolerationSeconds": 5}],
            "spec__engine__pod__securityContext": {"fsGroup": 1},
            "spec__engine__pod__volumeMounts": [{"name": "data", "mountPath": "/data"}],
        },
        id="passed-on",
    ),
    pytest.param(
        {"spec__networkPolicy": {"ingressFrom": [], "egressTo": [{"ipBlock": {"cidr": "::/0"}}]}},
        id="network",
    ),
    pytest.param(
        {
            "spec__promotion": {
                "mode": "Manual",
                "pin": 0,
                "minimumGain": "0%",
                "falsePromotion": "0.5%",
                "canary": {"engines": 2, "blockSeconds": 10},
                "guards": {"tpot": "12.5%"},
            }
        },
        id="promotion",
    ),
    pytest.param(
        {"spec__store": {"s3": {**S3, "caFile": "ca.pem", "caSecretRef": {"name": "ca"}}}},
        id="certificates-for-both-substrates",
    ),
]

BAD = [
    pytest.param(
        {"spec__target__source": None},
        "spec.target.source",
        "a cluster needs a source, set persistentVolumeClaim, hostPath or huggingFace",
        id="no-source",
    ),
    pytest.param(
        {"spec__target__source": {}},
        "spec.target.source",
        "set exactly one of persistentVolumeClaim, hostPath and huggingFace",
        id="empty-source",
    ),
    pytest.param(
        {"spec__target__source": {**CLAIM, **HOST}},
        "spec.target.source",
        "set exactly one of persistentVolumeClaim, hostPath and huggingFace",
        id="two-sources",
    ),
    pytest.param(
        {"spec__target__model": "../tiny"},
        "spec.target.model",
        "expected a relative path without '..'",
        id="model-outside-the-source",
    ),
    pytest.param(
        {"spec__target__model": "/tiny"},
        "spec.target.model",
        "expected a relative path without '..'",
        id="absolute-model",
    ),
    pytest.param(
        {"spec__target__source": {"persistentVolumeClaim": {"claimName": "a", "path": "x/../y"}}},
        "spec.target.source.persistentVolumeClaim.path",
        "expected a path without '..'",
        id="path-outside-the-claim",
    ),
    pytest.param(
        {"spec__store": {"directory": {"path": "/store"}}},
        "spec.store.directory",
        "directory is for a run on one machine, set s3 in a cluster",
        id="directory",
    ),
    pytest.param(
        {"spec__store": {"s3": S3, "directory": {"path": "/store"}}},
        "spec.store.directory",
        "directory is for a run on one machine",
        id="two-stores",
    ),
    pytest.param({"spec__store": {}}, "spec.store.s3", "a cluster needs s3", id="no-store"),
    pytest.param(
        {"spec__store__s3__credentialsSecretRef": None},
        "spec.store.s3.credentialsSecretRef",
        "a cluster needs the name of the Secret with the credentials",
        id="no-credentials",
    ),
    pytest.param(
        {"spec__store__s3__caFile": "ca.pem"},
        "spec.store.s3.caFile",
        "caFile is a file of one machine, add caSecretRef for a cluster",
        id="certificates-of-another-machine",
    ),
    pytest.param(
        {"spec__store__s3__endpoint": "s3:9000"}, "spec.store.s3.endpoint", "", id="no-scheme"
    ),
    pytest.param(
        {"spec__cohorts": [{"name": "main"}]},
        "spec.cohorts[0].name",
        "'main' is the cohort of spec.replicas, choose another name",
        id="main-again",
    ),
    pytest.param(
        {"spec__cohorts": [{"name": "aggregator"}]},
        "spec.cohorts[0].name",
        "'aggregator' is the fleet's aggregator, choose another name",
        id="named-like-the-aggregator",
    ),
    pytest.param(
        {"spec__cohorts": [{"name": "a"}, {"name": "a"}]}, "spec.cohorts", "Duplicate", id="twice"
    ),
    pytest.param(
        {"spec__trainer__depthWeights": ["1", "0.5"]},
        "spec.trainer.depthWeights",
        "give as many depthWeights as drafter.numSpeculativeTokens",
        id="depth-weights",
    ),
    pytest.param(
        {"spec__trainer__depthWeighting": "DPACE", "spec__trainer__depthWeights": ["1", "1", "1"]},
        "spec.trainer.depthWeights",
        "depthWeights are for the depthWeighting Fixed, remove one of the two",
        id="two-weightings",
    ),
    pytest.param(
        {"spec__trainer__learningRate": 0.001}, "spec.trainer.learningRate", "string", id="float"
    ),
    pytest.param({"spec__replicas": -1}, "spec.replicas", "greater than or equal to 0", id="bound"),
    pytest.param(
        {"spec__serve": "stable"}, "spec.serve", '"Stock", "Stable", "Local"', id="choice"
    ),
    pytest.param({"spec__target": None}, "spec.target", "Required value", id="missing"),
    pytest.param(
        {"spec__promotion__mode": "Auto"},
        "spec.promotion.mode",
        '"Automatic", "Manual", "Paused"',
        id="promotion-mode",
    ),
    pytest.param(
        {"spec__promotion__minimumGain": "0.5"},
        "spec.promotion.minimumGain",
        "should match",
        id="share-without-percent",
    ),
    pytest.param(
        {"spec__promotion__falsePromotion": "0%"},
        "spec.promotion.falsePromotion",
        "should match",
        id="no-error-budget",
    ),
    pytest.param(
        {"spec__promotion__canary": {"blockSeconds": 3600}},
        "spec.promotion.canary.maxSeconds",
        "maxSeconds has to be at least twice blockSeconds, or only one version is tried",
        id="canary-of-one-version",
    ),
    pytest.param(
        {"spec__promotion__historyLimit": 0},
        "spec.promotion.historyLimit",
        "greater than or equal to 1",
        id="no-history",
    ),
    pytest.param(
        {"spec__engine__args": ["--max-num-seqs", "8", "--served_model_name=x"]},
        "spec.engine.args[2]",
        "--served-model-name is set by specfleet: set spec.target.servedModelName",
        id="owned-argument",
    ),
    pytest.param(
        {"spec__engine__args": ["-tp=2"]},
        "spec.engine.args[0]",
        "-tp is set by specfleet: it is the number of GPUs in spec.engine.resources.limits",
        id="tensor-parallel",
    ),
    pytest.param(
        {"spec__engine__args": ["--max-num-seqs 8"]},
        "spec.engine.args[0]",
        "write one argument per list item",
        id="two-arguments-in-one",
    ),
    pytest.param(
        {"spec__engine__env": [{"name": "SPECFLEET_X", "value": ""}]},
        "spec.engine.env[0].name",
        "names that start with SPECFLEET_ are set by specfleet",
        id="owned-variable",
    ),
    pytest.param(
        {"spec__engine__env": [{"name": "VLLM_PLUGINS", "value": ""}]},
        "spec.engine.env[0].name",
        "specfleet's plugin has to be loaded",
        id="plugins",
    ),
    pytest.param(
        {"spec__engine__env": [{"name": "A"}]},
        "spec.engine.env[0]",
        "set exactly one of value and valueFrom",
        id="variable-without-a-value",
    ),
    pytest.param(
        {"spec__engine__env": [{"name": "A", "valueFrom": {}}]},
        "spec.engine.env[0].valueFrom",
        "set exactly one of secretKeyRef, configMapKeyRef and fieldRef",
        id="value-from-nowhere",
    ),
    pytest.param(
        {"spec__engine__env": [{"name": "PYTHONPATH", "valueFrom": FIELD}]},
        "spec.engine.env[0].valueFrom",
        "PYTHONPATH needs a value",
        id="python-path-from-elsewhere",
    ),
    pytest.param(
        {"spec__target": {"model": "a/b/c", "source": HUB}},
        "spec.target.model",
        "model is a repository of the hub, expected owner/name",
        id="no-repository",
    ),
    pytest.param(
        {"spec__target__source": {"huggingFace": {"revision": "main"}}},
        "spec.target.source.huggingFace.revision",
        "should match",
        id="branch-of-a-repository",
    ),
    pytest.param(
        {"spec__engine__sharedMemory": "1Mi"},
        "spec.engine.sharedMemory",
        "expected at least 192Mi",
        id="little-shared-memory",
    ),
    pytest.param(
        {"spec__trainer__resources": {"limits": {"memory": "256Mi"}}},
        "spec.trainer.resources.limits",
        "give agent and trainer a memory limit of at least 512Mi, or none",
        id="little-trainer-memory",
    ),
    pytest.param(
        {"spec__engine__resources": {"requests": {"cpu": "two"}}},
        "spec.engine.resources.requests.cpu",
        "should match",
        id="no-quantity",
    ),
    pytest.param(
        {"spec__engine__resources": {"requests": {"cpu": -1}}},
        "spec.engine.resources.requests.cpu",
        "greater than or equal to 0",
        id="negative-quantity",
    ),
    pytest.param(
        {"spec__engine__pod__labels": {"specfleet.dev/fleet": "x"}},
        "spec.engine.pod.labels",
        "keys that start with app.kubernetes.io/ or specfleet.dev/ are set by specfleet",
        id="our-label",
    ),
    pytest.param(
        {"spec__engine__pod__nodeSelector": {"a b": "x"}},
        "spec.engine.pod.nodeSelector",
        "keys are an optional prefix/ and at most 63 letters",
        id="no-label",
    ),
    pytest.param(
        {"spec__engine__pod__volumes": [{"name": "model", "emptyDir": {}}]},
        "spec.engine.pod.volumes",
        "specfleet has volumes named",
        id="our-volume",
    ),
    pytest.param(
        {"spec__engine__pod__volumes": [{"emptyDir": {}}]},
        "spec.engine.pod.volumes[0].name",
        "Required value",
        id="volume-without-a-name",
    ),
    pytest.param(
        {"metadata__name": "x" * 41}, "metadata.name", "may not be more than 40", id="long-name"
    ),
    pytest.param({"metadata__name": "1st"}, "metadata.name", "should match", id="name"),
]


@pytest.mark.parametrize("changes", GOOD)
def test_a_right_fleet_is_taken(api: CustomResources, changes: dict[str, Any]) -> None:
    document = fleet_object(**changes)

    assert api.refusal(document) is None
    assert as_written(document).metadata.name == "tiny"


@pytest.mark.parametrize(("changes", "field", "words"), BAD)
def test_a_wrong_fleet_is_refused_with_its_field_and_what_to_do(
    api: CustomResources, changes: dict[str, Any], field: str, words: str
) -> None:
    document = fleet_object(**changes)

    refusal = api.refusal(document)

    assert refusal is not None
    assert field in refusal
    assert words in refusal
    with pytest.raises(ValueError, match=r"."):
        as_written(document)


def test_the_largest_fleet_is_within_the_budget_of_the_rules(api: CustomResources) -> None:
    key = f"{'a' * 253}/{'k' * 60}"
    keys = {f"{key}{number:02d}": "v" * 63 for number in range(32)}
    volumes = [{"name": f"{'n' * 60}{number}", "emptyDir": {}} for number in range(32)]
    document = fleet_object(
        spec__target__model="m/" * 2048,
        spec__engine__args=[f"--{'-_.=' * 1023}"] * 128,
        spec__engine__env=[{"name": f"{'N' * 250}{n}", "value": "v"} for n in range(128)],
        spec__engine__pod__labels=keys,
        spec__engine__pod__annotations=keys,
        spec__engine__pod__nodeSelector=keys,
        spec__engine__pod__volumes=volumes,
        spec__cohorts=[{"name": f"{'c' * 38}{number:02d}"} for number in range(16)],
    )

    assert api.refusal(document) is None


@pytest.mark.parametrize("name", CLUSTER_EXAMPLES)
def test_an_example_is_taken(api: CustomResources, name: str) -> None:
    path = EXAMPLES / name
    metadata = yaml.safe_load(path.read_text(encoding="utf-8"))["metadata"]
    if "namespace" in metadata:
        wanted = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "inference"}}
        api.plane.client.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(wanted))

    said = api.plane.client.kubectl("apply", "--dry-run=server", "-f", str(path))

    assert (
        said.strip() == f"speculatorfleet.specfleet.dev/{metadata['name']} created (server dry run)"
    )


def test_an_example_for_one_machine_needs_a_source_and_a_bucket_in_a_cluster(
    api: CustomResources,
) -> None:
    document = yaml.safe_load((EXAMPLES / "demo.yaml").read_text(encoding="utf-8"))
    refused = api.refusal(document)

    document["spec"]["target"]["source"] = HOST
    document["spec"]["store"] = {"s3": S3}

    assert refused is not None
    assert "a cluster needs a source" in refused
    assert "directory is for a run on one machine" in refused
    assert api.refusal(document) is None
