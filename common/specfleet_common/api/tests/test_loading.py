"""Reading manifests: what is accepted, and what every message says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from specfleet_common.api.loading import ManifestError, load_fleet, parse_fleet
from specfleet_common.api.testing import manifest
from specfleet_common.api.values import Serve
from specfleet_common.codecs.codec import Codec

S3 = {"endpoint": "http://localhost:9000", "bucket": "fleets"}


def test_the_smallest_manifest_gets_the_documented_defaults() -> None:
    fleet = parse_fleet(manifest(), source="fleet.yaml")

    assert fleet.served_model_name == "tiny"
    assert fleet.spec.aggregation.outer.learning_rate == "0.7"
    assert [(c.name, c.replicas, c.train, c.serve) for c in fleet.spec.all_cohorts] == [
        ("main", 1, True, Serve.STABLE)
    ]


@pytest.mark.parametrize("codec", list(Codec))
def test_every_codec_can_be_named(codec: Codec) -> None:
    fleet = parse_fleet(manifest(spec__aggregation__codec=codec.value), source="fleet.yaml")

    assert fleet.spec.aggregation.codec is codec


def test_paths_are_relative_to_the_manifest(tmp_path: Path) -> None:
    path = tmp_path / "fleet.yaml"
    path.write_text(manifest(spec__store__directory__path="../store"), encoding="utf-8")

    fleet = load_fleet(path)

    assert fleet.spec.target.model == str(tmp_path / "model")
    assert fleet.spec.store.directory is not None
    assert fleet.spec.store.directory.path == str(tmp_path.parent / "store")


def test_a_model_is_relative_to_its_source(tmp_path: Path) -> None:
    path = tmp_path / "fleet.yaml"
    source = {"hostPath": {"path": "/models"}}
    path.write_text(manifest(spec__target__source=source), encoding="utf-8")

    fleet = load_fleet(path)

    assert fleet.spec.target.model == "/models/model"


def test_one_manifest_serves_a_cluster_and_this_machine() -> None:
    text = manifest(
        metadata__labels={"team": "a"},
        metadata__annotations={"note": "b"},
        spec__target__source={"hostPath": {"path": "/models"}},
        spec__engine__image="vllm/vllm-openai:v0.32.0",
        spec__engine__resources={"limits": {"cpu": 2}},
        spec__engine__pod__tolerations=[{"operator": "Exists"}],
        spec__trainer__resources={"limits": {"memory": "2Gi"}},
        spec__networkPolicy={"ingressFrom": []},
    )

    fleet = parse_fleet(text, source="fleet.yaml")

    assert fleet.spec.engine.resources.limits == {"cpu": "2"}


def test_the_certificates_of_a_store_are_relative_to_the_manifest(tmp_path: Path) -> None:
    path = tmp_path / "fleet.yaml"
    path.write_text(manifest(spec__store={"s3": {**S3, "caFile": "ca.pem"}}), encoding="utf-8")

    fleet = load_fleet(path)

    assert fleet.spec.store.s3 is not None
    assert fleet.spec.store.s3.ca_file == str(tmp_path / "ca.pem")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param(
            {"spec__aggregation__codec": "Zip"},
            "spec.aggregation.codec: is \"Zip\", expected 'Float32', 'BFloat16', 'Int8' or",
            id="unknown-codec",
        ),
        pytest.param(
            {"spec__trainer__learnRate": "0.1"},
            "spec.trainer.learnRate: unknown field, expected one of capture, learningRate,",
            id="unknown-field",
        ),
        pytest.param(
            {"spec__cohorts": [{"name": "a", "share": 1}]},
            "spec.cohorts[0].share: unknown field, expected one of name, replicas, train, serve",
            id="unknown-field-in-a-list",
        ),
        pytest.param(
            {"spec__served_model_name": "x"},
            "spec.served_model_name: unknown field",
            id="snake-case",
        ),
        pytest.param(
            {"spec__target": None}, "spec.target: is missing, expected a value", id="missing"
        ),
        pytest.param(
            {"spec__drafter__numSpeculativeTokens": 0},
            "spec.drafter.numSpeculativeTokens: is 0, expected greater than or equal to 1",
            id="bound",
        ),
        pytest.param(
            {"spec__replicas": "2"},
            'spec.replicas: is "2", expected a valid integer',
            id="number-as-text",
        ),
        pytest.param(
            {"spec__train": "yes"}, 'spec.train: is "yes", expected a valid boolean', id="boolean"
        ),
        pytest.param(
            {"spec__serve": "stock"},
            "spec.serve: is \"stock\", expected 'Stock', 'Stable' or 'Local'",
            id="choice",
        ),
        pytest.param(
            {"spec__drafter__family": "eagle3"},
            "spec.drafter.family: is \"eagle3\", expected 'mtp'",
            id="family",
        ),
        pytest.param(
            {"spec__trainer__learningRate": 0.0005},
            'spec.trainer.learningRate: expected a decimal in quotes, such as "0.0005"',
            id="float",
        ),
        pytest.param(
            {"spec__aggregation__outer__momentum": "1"},
            'spec.aggregation.outer.momentum: is "1", expected text to match pattern',
            id="decimal-bound",
        ),
        pytest.param(
            {"spec__trainer__depthWeighting": "dpace"},
            "spec.trainer.depthWeighting: is \"dpace\", expected 'Fixed' or 'DPACE'",
            id="word",
        ),
        pytest.param(
            {"spec__trainer__depthWeights": ["1", "a", "1"]},
            'spec.trainer.depthWeights[1]: is "a", expected',
            id="item-of-a-list",
        ),
        pytest.param(
            {
                "spec__trainer__depthWeighting": "DPACE",
                "spec__trainer__depthWeights": ["1", "1", "1"],
            },
            "spec.trainer: depthWeights are for the depthWeighting Fixed, remove one of the two",
            id="two-weightings",
        ),
        pytest.param(
            {"spec__engine__resources": {"limits": {"cpu": 0.5}}},
            "spec.engine.resources.limits.cpu: is 0.5, expected a quantity in quotes, such as",
            id="quantity-as-float",
        ),
        pytest.param(
            {"spec__trainer__resources": {"limits": {"memory": "1Mi"}}},
            "spec.trainer.resources: limits.memory is 1Mi, expected at least 512Mi",
            id="little-memory",
        ),
        pytest.param(
            {"spec__target__source": {}},
            "spec.target.source: set exactly one of persistentVolumeClaim, hostPath and "
            "huggingFace",
            id="empty-source",
        ),
        pytest.param(
            {"spec__trainer__depthWeights": ["1", "0.5"]},
            "spec: trainer.depthWeights has 2 weights, expected 3 as in "
            "drafter.numSpeculativeTokens",
            id="depth-weights",
        ),
        pytest.param(
            {"spec__cohorts": [{"name": "main"}]},
            "spec.cohorts: 'main' is the top-level cohort, expected another name",
            id="main-again",
        ),
        pytest.param(
            {"spec__cohorts": [{"name": "aggregator"}]},
            "spec.cohorts: 'aggregator' is the fleet's aggregator, expected another name",
            id="named-like-the-aggregator",
        ),
        pytest.param(
            {"spec__cohorts": [{"name": "a"}, {"name": "a"}]},
            "spec.cohorts: 2 entries are named 'a', expected different names",
            id="twice",
        ),
        pytest.param(
            {"spec__engine__args": ["--model", "x"]},
            "spec.engine.args: --model is set by specfleet: set spec.target.model",
            id="owned-argument",
        ),
        pytest.param(
            {"spec__engine__args": ["--max-num-seqs", 16]},
            "spec.engine.args[1]: is 16, expected a valid string",
            id="argument-not-text",
        ),
        pytest.param(
            {"spec__engine__env": [{"name": "SPECFLEET_ENGINE_FLEET", "value": "x"}]},
            "spec.engine.env[0].name: SPECFLEET_ENGINE_FLEET is set by specfleet",
            id="owned-variable",
        ),
        pytest.param(
            {"spec__engine__env": [{"name": "A"}]},
            "spec.engine.env[0]: set exactly one of value and valueFrom",
            id="variable-without-a-value",
        ),
        pytest.param(
            {"spec__target": {"model": "a/b/c", "source": {"huggingFace": {"revision": "a" * 40}}}},
            "spec.target: model is a repository of the hub, expected owner/name",
            id="no-repository",
        ),
        pytest.param(
            {"metadata__name": "Tiny_1"},
            'metadata.name: is "Tiny_1", expected text to match pattern',
            id="name",
        ),
        pytest.param(
            {"spec__store": {}}, "spec.store: has neither, expected directory or s3", id="no-store"
        ),
        pytest.param(
            {"spec__store__s3": S3},
            "spec.store: has directory and s3, expected directory or s3",
            id="two-stores",
        ),
        pytest.param(
            {"spec__store": {"s3": {**S3, "endpoint": "localhost:9000"}}},
            'spec.store.s3.endpoint: is "localhost:9000", expected text to match pattern',
            id="endpoint-without-scheme",
        ),
        pytest.param(
            {"spec__store": {"s3": {**S3, "prefix": "a/../b"}}},
            'spec.store.s3.prefix: is "a/../b", expected text to match pattern',
            id="prefix-that-leads-elsewhere",
        ),
        pytest.param(
            {"spec__store": {"s3": {**S3, "secretKey": "x"}}},
            "spec.store.s3.secretKey: unknown field, expected one of endpoint, bucket, prefix,",
            id="secret-in-the-manifest",
        ),
    ],
)
def test_a_mistake_is_named_with_file_field_value_and_expectation(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ManifestError) as caught:
        parse_fleet(manifest(**changes), source="my/fleet.yaml")

    assert f"my/fleet.yaml: {message}" in str(caught.value)


def test_every_mistake_has_a_line() -> None:
    text = manifest(spec__replicas=-1, spec__serve="x")

    with pytest.raises(ManifestError) as caught:
        parse_fleet(text, source="fleet.yaml")

    assert len(str(caught.value).splitlines()) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a: [", "not YAML", id="not-yaml"),
        pytest.param("", "is null, expected a mapping", id="empty"),
        pytest.param("a: 1\n---\nb: 2\n", "has 2 documents, expected one", id="two-documents"),
        pytest.param("kind: a\nkind: b\n", "'kind' is given twice", id="key-twice"),
        pytest.param("kind: 2026-01-01\n", 'kind: is "2026-01-01"', id="date"),
        pytest.param("kind: 2026-13-99\n", "month must be in 1..12", id="no-date"),
        pytest.param("kind: !!float x\n", "could not convert", id="no-number"),
        pytest.param("? [a]\n: b\n", "a name is ['a'], expected text", id="a-list-as-a-name"),
        pytest.param("? {a: b}\n: c\n", "a name is {'a': 'b'}", id="a-mapping-as-a-name"),
        pytest.param("kind: &a [*a]\n", "a value contains itself", id="a-circle"),
        pytest.param(f"kind: 0x{'f' * 5000}\n", "cannot be written as JSON", id="a-long-number"),
        pytest.param("kind: " + "[" * 400, "has more than 100 levels", id="deep"),
    ],
)
def test_what_is_not_one_mapping_is_refused(text: str, message: str) -> None:
    with pytest.raises(ManifestError) as caught:
        parse_fleet(text, source="fleet.yaml")

    assert message in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ManifestError) as caught:
        load_fleet(tmp_path / "absent.yaml")

    assert str(tmp_path / "absent.yaml") in str(caught.value)
