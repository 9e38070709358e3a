"""The rights the chart gives: none too wide, none missing for the kinds the operator works with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from specfleet_operator.claiming import CLAIM_LEASE
from specfleet_operator.kinds import (
    CHILDREN,
    EVENT,
    FLEET,
    LEASE,
    OPTIONAL_CHILDREN,
    POD,
    PROMOTION,
)
from specfleet_operator.observed import Object
from specfleet_operator.tests.charts import NAMESPACE, Helm, of_kind, rules

NAMESPACED = {"watchNamespaces": ["team-a", "team-b"]}
READS = {"get", "list", "watch"}
WRITES = {"create", "delete", "patch"}
OF_PODS = {"delete", "list", "patch", "watch"}


def granted(objects: tuple[Object, ...], group: str, resource: str) -> set[str]:
    """Return the verbs that the operator's own roles allow on a resource."""
    return {
        verb
        for role, rule in rules(objects)
        if not any(label.startswith("rbac.") for label in role["metadata"]["labels"])
        and group in rule["apiGroups"]
        and resource in rule["resources"]
        for verb in rule["verbs"]
    }


@pytest.mark.parametrize("values", [{}, NAMESPACED], ids=["cluster-wide", "namespaced"])
def test_no_rule_has_a_wildcard(helm: Helm, values: Mapping[str, Any]) -> None:
    for role, rule in rules(helm.objects(values)):
        for part in ("apiGroups", "resources", "verbs"):
            assert not any("*" in word for word in rule[part]), role["metadata"]["name"]


@pytest.mark.parametrize("values", [{}, NAMESPACED], ids=["cluster-wide", "namespaced"])
def test_the_operator_may_do_what_it_does(helm: Helm, values: Mapping[str, Any]) -> None:
    objects = helm.objects(values)

    assert granted(objects, FLEET.group, FLEET.plural) == READS
    for kind in (FLEET, PROMOTION):
        assert granted(objects, kind.group, f"{kind.plural}/status") == {"patch"}
    for kind in (*CHILDREN, *OPTIONAL_CHILDREN):
        needed = OF_PODS if kind == POD else READS | WRITES
        assert granted(objects, kind.group, kind.plural) == needed, kind
    assert granted(objects, EVENT.group, EVENT.plural) == {"create", "patch"}
    assert granted(objects, "", "serviceaccounts/token") == {"create"}


def test_the_operator_holds_its_own_lease(helm: Helm) -> None:
    own = leases(helm.objects(), namespace=NAMESPACE)

    assert own == {("create", None), ("get", "specfleet"), ("update", "specfleet")}


def test_an_operator_of_all_namespaces_sees_the_marks_of_others(helm: Helm) -> None:
    assert leases(helm.objects(), namespace=None) == {
        ("list", CLAIM_LEASE),
        ("watch", CLAIM_LEASE),
    }


def test_an_operator_of_some_namespaces_marks_these(helm: Helm) -> None:
    marks = leases(helm.objects(NAMESPACED), namespace="team-a")

    assert marks == {("create", None), ("get", CLAIM_LEASE), ("update", CLAIM_LEASE)}


def test_the_operator_can_give_nobody_rights(helm: Helm) -> None:
    for role, rule in rules(helm.objects()):
        assert "rbac.authorization.k8s.io" not in rule["apiGroups"], role["metadata"]["name"]
        assert not {"escalate", "bind", "impersonate"} & set(rule["verbs"])
        assert not {"pods/exec", "pods/log", "nodes"} & set(rule["resources"])


def test_tokens_are_only_those_of_the_operators_own_account(helm: Helm) -> None:
    objects = helm.objects({"serviceAccount": {"name": "ours"}})

    for role, rule in rules(objects):
        if "serviceaccounts/token" in rule["resources"]:
            assert role["kind"] == "Role"
            assert role["metadata"]["namespace"] == NAMESPACE
            assert rule["resourceNames"] == ["ours"]


def test_an_operator_of_some_namespaces_has_rights_over_fleets_in_these_alone(helm: Helm) -> None:
    objects = helm.objects({**NAMESPACED, "rbac": {"aggregateRoles": False}})

    assert of_kind(objects, "ClusterRole") == ()
    places = {
        role["metadata"]["namespace"]
        for role, rule in rules(objects)
        if FLEET.group in rule["apiGroups"]
    }
    assert places == {"team-a", "team-b"}


def test_an_operator_can_be_installed_without_any_cluster_wide_object(helm: Helm) -> None:
    values = {
        **NAMESPACED,
        "rbac": {"aggregateRoles": False, "issuerDiscovery": False},
        "crds": {"install": False},
    }

    homeless = [
        item["kind"] for item in helm.objects(values) if "namespace" not in item["metadata"]
    ]

    assert homeless == []


def test_two_releases_share_no_object(helm: Helm) -> None:
    first = helm.objects({"crds": {"install": False}}, namespace="one")
    second = helm.objects({"crds": {"install": False}}, namespace="two")

    assert keys(first) & keys(second) == set()


def test_two_releases_of_one_namespace_share_no_object(helm: Helm) -> None:
    values = {**NAMESPACED, "crds": {"install": False}}

    assert (
        keys(helm.objects(values, release="a")) & keys(helm.objects(values, release="b")) == set()
    )


def test_people_who_may_edit_a_namespace_may_edit_its_fleets(helm: Helm) -> None:
    aggregated = {
        item["metadata"]["name"].rpartition(":")[2]: item
        for item in of_kind(helm.objects(), "ClusterRole")
        if "rbac.authorization.k8s.io/aggregate-to-edit" in item["metadata"]["labels"]
    }

    assert set(aggregated) == {"view", "edit"}
    assert aggregated["view"]["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-view"]
    for rule in aggregated["view"]["rules"]:
        assert set(rule["verbs"]) == {"get", "list", "watch"}


def test_people_who_may_edit_a_namespace_may_decide_on_its_promotions(helm: Helm) -> None:
    verbs = {
        verb
        for role, rule in rules(helm.objects())
        if "rbac.authorization.k8s.io/aggregate-to-edit" in role["metadata"]["labels"]
        and PROMOTION.plural in rule["resources"]
        for verb in rule["verbs"]
    }

    assert {"get", "list", "watch", "patch", "update"} <= verbs


def leases(objects: tuple[Object, ...], *, namespace: str | None) -> set[tuple[str, str | None]]:
    """Return what the roles of a namespace, or of the cluster, allow: verbs and names of Leases."""
    return {
        (verb, name)
        for role, rule in rules(objects)
        if role["metadata"].get("namespace") == namespace and LEASE.plural in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [None])
    }


def keys(objects: tuple[Object, ...]) -> set[tuple[str, str, str]]:
    """Return what names each object in the cluster."""
    return {
        (item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"])
        for item in objects
    }
