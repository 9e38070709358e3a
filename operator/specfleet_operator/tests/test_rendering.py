"""What surrounds the pods of a fleet, and the aggregator."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from specfleet_common.api.learning import parse_settings
from specfleet_common.api.promotion import Decision
from specfleet_common.store.location import S3Location
from specfleet_operator.naming import FLEET_LABEL
from specfleet_operator.rendering.aggregator_pod import aggregator_template
from specfleet_operator.rendering.config import settings, trust_objects
from specfleet_operator.rendering.monitors import pod_monitors
from specfleet_operator.rendering.network import network_policies
from specfleet_operator.rendering.services import services
from specfleet_operator.tests.building import FACTS, TRUST, subject

PEERS = [{"ipBlock": {"cidr": "10.0.0.0/8"}}]
OWN = {FLEET_LABEL: "demo"}


def policies(**policy: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the rules of the engines and of the aggregator."""
    engines, aggregator = network_policies(subject(networkPolicy=policy))
    return engines["spec"], aggregator["spec"]


def ports(rule: dict[str, Any]) -> set[int]:
    return {port["port"] for port in rule.get("ports", [])}


def aggregator(**changes: Any) -> dict[str, Any]:
    """Return the container of the aggregator."""
    [container] = aggregator_template(subject(**changes))["spec"]["containers"]
    return dict(container)


def environment(**changes: Any) -> dict[str, Any]:
    """Return the aggregator's variables: their values, or where these come from."""
    return {
        one["name"].removeprefix("SPECFLEET_AGGREGATOR_"): one.get("value", one.get("valueFrom"))
        for one in aggregator(**changes)["env"]
    }


def test_everyone_may_send_requests_unless_somebody_is_named() -> None:
    engines, _ = policies()

    [requests, metrics] = engines["ingress"]
    assert ("from" in requests, ports(requests)) == (False, {8000})
    assert ("from" in metrics, ports(metrics)) == (False, {8090})


def test_those_who_are_named_may_send_requests() -> None:
    engines, _ = policies(ingressFrom=PEERS)

    assert engines["ingress"][0]["from"] == PEERS


def test_nobody_may_send_requests_where_nobody_is_named() -> None:
    engines, _ = policies(ingressFrom=[])

    assert [ports(rule) for rule in engines["ingress"]] == [{8090}]


def test_engines_reach_their_aggregator_names_and_what_is_named() -> None:
    engines, _ = policies(egressTo=PEERS)

    [dns, own, named] = engines["egress"]
    assert ports(dns) == {53, 5353}
    labels = own["to"][0]["podSelector"]["matchLabels"]
    assert (ports(own), OWN.items() <= labels.items()) == ({50051}, True)
    assert named == {"to": PEERS}


def test_an_aggregator_hears_its_own_engines_and_the_operator() -> None:
    _, rules = policies()

    [calls, metrics] = rules["ingress"]
    [engines, operator] = calls["from"]
    assert OWN.items() <= engines["podSelector"]["matchLabels"].items()
    names = operator["namespaceSelector"]["matchLabels"]
    assert names == {"kubernetes.io/metadata.name": FACTS.namespace}
    assert (ports(calls), ports(metrics)) == ({50051}, {9090})


@pytest.mark.parametrize(
    ("policy", "egress"),
    [
        pytest.param({}, [{}], id="the-store-may-be-anywhere"),
        pytest.param({"egressTo": []}, [{"to": None}], id="nothing-but-names"),
        pytest.param({"egressTo": PEERS}, [{"to": None}, {"to": PEERS}], id="what-is-named"),
    ],
)
def test_where_an_aggregator_may_connect_to(
    policy: dict[str, Any], egress: list[dict[str, Any]]
) -> None:
    _, rules = policies(**policy)

    found = [rule.get("to") for rule in rules["egress"]]
    assert found == [rule.get("to") for rule in egress]
    assert any(rule == {} for rule in rules["egress"]) == (policy == {})


def test_clients_reach_ready_engines_and_the_fleet_reaches_all_of_them() -> None:
    clients, engines, aggregators = (one["spec"] for one in services(subject()))

    assert "clusterIP" not in clients
    assert "publishNotReadyAddresses" not in clients
    assert clients["ports"][0]["port"] == 8000
    for headless in (engines, aggregators):
        assert (headless["clusterIP"], headless["publishNotReadyAddresses"]) == ("None", True)


def test_learning_settings_are_a_file_that_the_aggregator_reads() -> None:
    wanted = replace(subject(aggregation__localSteps=7, promotion__guards__tpot="2%"), generation=5)
    decided = {"12-0000000cdddd": Decision.APPROVE}

    found = parse_settings(settings(wanted, decided)["data"]["settings.json"].encode())

    assert (found.fleet_uid, found.generation, found.local_steps) == ("uid-of-demo", 5, 7)
    assert found.promotion.tpot == 0.02
    assert found.decisions == decided


def test_the_key_of_the_authority_is_in_a_secret_that_no_pod_sees() -> None:
    authority, public, certificate = trust_objects(subject(), TRUST)

    volumes = aggregator_template(subject())["spec"]["volumes"]
    seen = {one.get("secret", {}).get("secretName") for one in volumes}
    assert certificate["metadata"]["name"] in seen
    assert authority["metadata"]["name"] not in seen
    assert "KEY" not in json.dumps(public)


def test_the_aggregator_knows_whom_to_believe() -> None:
    found = environment()

    assert found["TOKEN_AUDIENCE"] == "specfleet/ml/demo"
    assert found["WORKER_SUBJECT"] == "system:serviceaccount:ml:demo-engine"
    assert json.loads(found["WATCHER_SUBJECTS"]) == [
        "system:serviceaccount:specfleet-system:specfleet-operator"
    ]
    assert found["TOKEN_ISSUER"] == {"configMapKeyRef": {"name": "demo-trust", "key": "issuer"}}


def test_a_fleet_has_its_own_place_in_the_bucket_and_trusts_what_it_is_told_to() -> None:
    plain, private = environment(), environment(store__s3__caSecretRef={"name": "ca", "key": "x"})

    where = S3Location.model_validate_json(plain["STORE_S3"])
    assert (where.prefix, where.ca_file) == ("ml/demo", None)
    trusting = S3Location.model_validate_json(private["STORE_S3"])
    assert str(trusting.ca_file) == "/var/run/specfleet/store-ca/x"


def test_credentials_are_files_so_that_new_ones_need_no_restart() -> None:
    volumes = aggregator_template(subject())["spec"]["volumes"]

    [credentials] = [one["secret"] for one in volumes if one["name"] == "store-credentials"]
    [place] = [one for one in aggregator()["volumeMounts"] if one["name"] == "store-credentials"]
    where = S3Location.model_validate_json(environment()["STORE_S3"])
    assert (credentials["secretName"], credentials["optional"]) == ("s3", True)
    assert str(where.credentials_directory) == place["mountPath"]
    assert not [name for name in environment() if name.startswith("AWS_")]


def test_monitors_are_made_only_where_there_is_a_kind_for_them() -> None:
    with_prometheus = replace(FACTS, optional_kinds=frozenset({"PodMonitor"}))

    assert pod_monitors(subject()) == []
    assert len(pod_monitors(subject(facts=with_prometheus))) == 2


def test_what_is_collected_names_its_fleet_and_cohort() -> None:
    with_prometheus = replace(FACTS, optional_kinds=frozenset({"PodMonitor"}))

    engines, aggregator = (
        [endpoint["relabelings"] for endpoint in monitor["spec"]["podMetricsEndpoints"]]
        for monitor in pod_monitors(subject(facts=with_prometheus))
    )

    def targets(relabelings: list[dict[str, str]]) -> list[str]:
        return [one["targetLabel"] for one in relabelings]

    assert [targets(one) for one in engines] == [["fleet", "cohort"], ["fleet", "cohort"]]
    assert [targets(one) for one in aggregator] == [["fleet"]]
    assert engines[0][1]["sourceLabels"] == ["__meta_kubernetes_pod_label_specfleet_dev_cohort"]


def test_monitors_carry_the_labels_by_which_a_prometheus_finds_them() -> None:
    facts = replace(
        FACTS,
        optional_kinds=frozenset({"PodMonitor"}),
        pod_monitor_labels={"release": "prometheus", FLEET_LABEL: "not-theirs-to-say"},
    )

    labels = [monitor["metadata"]["labels"] for monitor in pod_monitors(subject(facts=facts))]

    assert [(one["release"], one[FLEET_LABEL]) for one in labels] == [("prometheus", "demo")] * 2
