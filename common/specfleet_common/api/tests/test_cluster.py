"""A fleet is read from what an API server returns, and a cluster's own needs are named."""

from __future__ import annotations

from typing import Any

import pytest

from specfleet_common.api.cluster import fleet_from_object
from specfleet_common.api.testing import fleet_object

S3 = {"endpoint": "http://s3:9000", "bucket": "fleets"}


def test_what_the_api_server_adds_is_not_read() -> None:
    document = fleet_object(
        metadata__namespace="ns",
        metadata__uid="6f6b",
        metadata__resourceVersion="12",
        metadata__generation=3,
        metadata__creationTimestamp="2026-01-01T00:00:00Z",
        metadata__labels={"a": "b"},
        metadata__managedFields=[{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}],
        status={"replicas": 1},
    )

    fleet = fleet_from_object(document)

    assert (fleet.metadata.namespace, fleet.metadata.name) == ("ns", "tiny")


def test_fields_of_a_newer_definition_are_passed_over() -> None:
    document = fleet_object(spec__newer={"a": 1}, spec__target__newer="b")

    assert fleet_from_object(document) == fleet_from_object(fleet_object())


def test_they_do_not_hide_a_mistake() -> None:
    document = fleet_object(spec__newer={"a": 1}, spec__replicas=-1)

    with pytest.raises(ValueError, match=r"spec\.replicas"):
        fleet_from_object(document)


def test_a_namespace_may_be_longer_than_the_name_of_a_fleet() -> None:
    fleet = fleet_from_object(fleet_object(metadata__namespace=f"1{'n' * 62}"))

    assert len(fleet.metadata.namespace) == 63


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param(
            {"spec__target__source": None},
            "spec.target.source: a cluster needs a source, set persistentVolumeClaim, hostPath or "
            "huggingFace",
            id="source",
        ),
        pytest.param(
            {"spec__store": {"directory": {"path": "/x"}}},
            "spec.store.directory: directory is for a run on one machine, set s3 in a cluster",
            id="directory",
        ),
        pytest.param(
            {"spec__store": {"s3": S3}},
            "spec.store.s3.credentialsSecretRef: a cluster needs the name of the Secret with the "
            "credentials",
            id="credentials",
        ),
        pytest.param(
            {"spec__store__s3__caFile": "ca.pem"},
            "spec.store.s3.caFile: caFile is a file of one machine, add caSecretRef for a cluster",
            id="certificates",
        ),
        pytest.param(
            {"spec__replicas": -1},
            "spec.replicas: is -1, expected greater than or equal to 0",
            id="bound",
        ),
    ],
)
def test_a_mistake_is_named_with_its_field(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=r"^spec") as caught:
        fleet_from_object(fleet_object(**changes))

    assert str(caught.value) == message


def test_an_object_without_a_spec_is_refused() -> None:
    document = {key: part for key, part in fleet_object().items() if key != "spec"}

    with pytest.raises(ValueError, match=r"^spec: is missing, expected a value$"):
        fleet_from_object(document)


def test_every_mistake_has_a_line() -> None:
    document = fleet_object(
        spec__target__source=None, spec__store={"directory": {"path": "/store"}}
    )

    with pytest.raises(ValueError, match=r"^spec") as caught:
        fleet_from_object(document)

    assert len(str(caught.value).splitlines()) == 2


def test_what_is_passed_on_to_kubernetes_is_kept_whole() -> None:
    affinity = {"nodeAffinity": {"weights": [1, 0.5, None, {"deep": True}]}}
    volumes = [{"name": "data", "csi": {"driver": "x", "volumeAttributes": {"a": "b"}}}]

    fleet = fleet_from_object(
        fleet_object(spec__engine__pod__affinity=affinity, spec__engine__pod__volumes=volumes)
    )

    assert fleet.spec.engine.pod.affinity == affinity
    assert list(fleet.spec.engine.pod.volumes) == volumes
