"""What counts as a change of a pod template, and what does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from specfleet_common.api.fleet import MAIN_COHORT
from specfleet_operator.comparing import digest
from specfleet_operator.observed import ObjectKey
from specfleet_operator.revisions import aggregator_inputs, engine_inputs, keep
from specfleet_operator.tests.building import FACTS, subject

SET = ObjectKey("apps/v1", "StatefulSet", "demo-main")


def revision(**changes: Any) -> str:
    """Return the digest of what shapes the pods of the main cohort."""
    wanted = subject(**changes)
    return digest(engine_inputs(wanted, wanted.fleet.spec.all_cohorts[0]))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"engine__image": "other"}, id="image"),
        pytest.param({"engine__args": ["--seed", "1"]}, id="arguments"),
        pytest.param({"engine__env": [{"name": "A", "value": "1"}]}, id="environment"),
        pytest.param({"engine__drainSeconds": 1}, id="drain"),
        pytest.param({"engine__pod": {"nodeSelector": {"a": "b"}}}, id="placement"),
        pytest.param({"trainer__threads": 2}, id="trainer-threads"),
        pytest.param({"trainer__resources": {"limits": {"memory": "4Gi"}}}, id="trainer-memory"),
        pytest.param({"trainer__image": "mine"}, id="trainer-image"),
        pytest.param({"trainer__capture": {"maxTokens": 16}}, id="capture"),
        pytest.param({"target__model": "other"}, id="model"),
        pytest.param({"drafter__numSpeculativeTokens": 2}, id="speculative-tokens"),
        pytest.param({"train": False}, id="train"),
        pytest.param({"serve": "Local"}, id="serve"),
    ],
)
def test_what_shapes_a_pod_makes_another_revision(change: dict[str, Any]) -> None:
    assert revision(**change) != revision()


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"replicas": 5}, id="scaling"),
        pytest.param({"cohorts": [{"name": "other"}]}, id="another-cohort"),
        pytest.param({"trainer__learningRate": "0.01"}, id="learning-rate"),
        pytest.param({"trainer__rowsPerStep": 5}, id="rows"),
        pytest.param({"aggregation__quorum": {"percent": 5}}, id="quorum"),
        pytest.param({"store__s3__bucket": "other"}, id="store"),
        pytest.param({"networkPolicy": {"egressTo": []}}, id="network"),
        pytest.param({"engine__drainSeconds": 300, "engine__args": []}, id="defaults-written-out"),
        pytest.param({"engine__pod": {"labels": {}}, "trainer__capture": {}}, id="empty-parts"),
    ],
)
def test_what_shapes_no_pod_does_not(change: dict[str, Any]) -> None:
    assert revision(**change) == revision()


def test_an_engines_settings_shape_no_aggregator() -> None:
    edited = subject(engine__image="other", engine__pod={"labels": {"a": "b"}})

    assert aggregator_inputs(edited) == aggregator_inputs(subject())


def test_both_pods_are_pulled_with_the_same_secrets() -> None:
    edited = subject(engine__pod={"imagePullSecrets": [{"name": "registry"}]})

    assert aggregator_inputs(edited) != aggregator_inputs(subject())


def test_the_operators_own_defaults_are_no_input() -> None:
    images = replace(FACTS.images, agent="agent:2", default_engine="vllm:2")
    upgraded = replace(FACTS, version="2", images=images)
    before, after = subject(), subject(facts=upgraded)
    cohort = before.fleet.spec.all_cohorts[0]

    assert engine_inputs(before, cohort) == engine_inputs(after, cohort)
    assert aggregator_inputs(before) == aggregator_inputs(after)


def test_an_operator_in_another_place_has_to_be_let_in_by_the_aggregator() -> None:
    moved = subject(facts=replace(FACTS, namespace="elsewhere"))

    assert aggregator_inputs(moved) != aggregator_inputs(subject())


def test_digests_stay_the_same_from_version_to_version() -> None:
    # Another digest here restarts every fleet when its operator is upgraded.
    assert revision() == "e5f64adf2209891b"
    assert revision(engine__image="x", engine__args=["--seed", "1"]) == "aa9bd1be21f03b46"


def test_a_kept_template_is_not_rendered_again() -> None:
    wanted = subject()
    inputs = {"a": 1}
    first = keep(
        wanted,
        MAIN_COHORT,
        inputs=inputs,
        stateful_set=SET,
        children=(),
        render=lambda: {"metadata": {"labels": {}}, "spec": {"by": "the first"}},
    )

    second = keep(
        wanted,
        MAIN_COHORT,
        inputs=inputs,
        stateful_set=SET,
        children=(first.record,),
        render=lambda: {"metadata": {"labels": {}}, "spec": {"by": "the second"}},
    )

    assert second == first


def test_records_are_numbered_in_the_order_in_which_they_were_made() -> None:
    wanted = subject()
    records: list[Any] = []
    for value in range(3):
        kept = keep(
            wanted,
            MAIN_COHORT,
            inputs={"a": value},
            stateful_set=SET,
            children=records,
            render=lambda: {"metadata": {"labels": {}}, "spec": {}},
        )
        records.append(kept.record)

    assert [record["revision"] for record in records] == [1, 2, 3]
