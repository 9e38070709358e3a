"""Who may connect to whom by the policies of fleets and of the chart; docs/security.md says it too.

The cluster of the end-to-end tests enforces no policies, so this judges what they say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from specfleet_common.api.fleet import Metadata
from specfleet_operator.naming import (
    AGENT_PORT,
    AGGREGATOR,
    AGGREGATOR_PORT,
    ENGINE,
    ENGINE_PORT,
    METRICS_PORT,
)
from specfleet_operator.rendering.network import network_policies
from specfleet_operator.rendering.subject import labels
from specfleet_operator.tests.building import FACTS, subject
from specfleet_operator.tests.charts import Helm
from specfleet_operator.tests.networks import End, Outside, Pod, may_connect

PAGE = Path(__file__).parents[3] / "docs" / "security.md"
BEGIN, FINISH = "<!-- reach -->\n", "<!-- /reach -->"

FLEETS = (("ml", "demo"), ("ml", "other"), ("elsewhere", "demo"))
USUAL: dict[str, Any] = {}
CLOSED: dict[str, Any] = {"ingressFrom": [], "egressTo": []}
NAMED: dict[str, Any] = {
    "ingressFrom": [{"ipBlock": {"cidr": "192.0.2.0/24"}}],
    "egressTo": [{"ipBlock": {"cidr": "198.51.100.0/24"}}],
}
WORDS: Mapping[tuple[bool, ...], str] = {
    (True, True, True): "yes",
    (False, False, False): "no",
    (True, False, True): "unless `{field}` names others",
    (False, False, True): "if `{field}` names it",
    (True, False, False): "unless the fleets name others",
}
"""What is said of a way that is open by the usual, the closed and the named policies."""


def pod(component: str, *, fleet: str = "demo", namespace: str = "ml") -> Pod:
    return Pod(namespace, labels(fleet, component, "main" if component == ENGINE else None))


CLIENT, STORE, API_SERVER = (
    Outside(address) for address in ("192.0.2.7", "198.51.100.9", "203.0.113.1")
)
ENGINES, AGGREGATORS = pod(ENGINE), pod(AGGREGATOR)
OTHER_FLEETS, NAMESAKES = pod(ENGINE, fleet="other"), pod(ENGINE, namespace="elsewhere")
NAMES = Pod("kube-system", {"k8s-app": "kube-dns"})


@dataclass(frozen=True)
class Way:
    """One row of the table; `field` is what of spec.networkPolicy decides about it."""

    from_whom: str
    to_whom: str
    source: End
    target: End
    port: int
    field: str = ""


@dataclass(frozen=True)
class Installed:
    """The operator's policy and its pod, as the chart has them."""

    policy: Mapping[str, Any]
    pod: Pod

    def is_open(self, way: Way, policy: dict[str, Any]) -> bool:
        """Say whether a way is open where all fleets say this about their networks."""
        everything = [self.policy, *_policies_of_fleets(policy)]
        return may_connect(way.source, way.target, way.port, everything)


@pytest.fixture(scope="module")
def installed(helm: Helm) -> Installed:
    rendered = helm.objects(namespace=FACTS.namespace)
    [policy] = [one for one in rendered if one["kind"] == "NetworkPolicy"]
    [deployment] = [one for one in rendered if one["kind"] == "Deployment"]
    template = deployment["spec"]["template"]
    ports = {
        port["name"]: port["containerPort"]
        for container in template["spec"]["containers"]
        for port in container["ports"]
    }
    return Installed(policy, Pod(FACTS.namespace, template["metadata"]["labels"], ports))


def _policies_of_fleets(policy: dict[str, Any]) -> Iterable[dict[str, Any]]:
    wanted = subject(networkPolicy=policy)
    for namespace, name in FLEETS:
        metadata = Metadata(name=name, namespace=namespace)
        fleet = wanted.fleet.model_copy(update={"metadata": metadata})
        yield from network_policies(replace(wanted, fleet=fleet))


def ways(operator: Pod) -> tuple[Way, ...]:
    api = f"engine, {ENGINE_PORT}"
    own = f"its aggregator, {AGGREGATOR_PORT}"
    strange = f"an aggregator, {AGGREGATOR_PORT}"
    return (
        Way("anyone", api, CLIENT, ENGINES, ENGINE_PORT, "ingressFrom"),
        Way("anyone", f"agent's metrics, {AGENT_PORT}", CLIENT, ENGINES, AGENT_PORT),
        Way("anyone", f"aggregator's metrics, {METRICS_PORT}", CLIENT, AGGREGATORS, METRICS_PORT),
        Way("anyone", "operator's metrics", CLIENT, operator, operator.ports["metrics"]),
        Way("anyone", "operator's health page", CLIENT, operator, operator.ports["health"]),
        Way("anyone", strange, CLIENT, AGGREGATORS, AGGREGATOR_PORT),
        Way("engine", own, ENGINES, AGGREGATORS, AGGREGATOR_PORT),
        Way("engine of another fleet", strange, OTHER_FLEETS, AGGREGATORS, AGGREGATOR_PORT),
        Way(
            "engine of a fleet of the same name in another namespace",
            strange,
            NAMESAKES,
            AGGREGATORS,
            AGGREGATOR_PORT,
        ),
        Way("engine", "name server, 53", ENGINES, NAMES, 53),
        Way("engine", "store, or anything else outside", ENGINES, STORE, 9000, "egressTo"),
        Way("engine", "API server, 443", ENGINES, API_SERVER, 443),
        Way("aggregator", "store, wherever it is", AGGREGATORS, STORE, 9000, "egressTo"),
        Way("aggregator", api, AGGREGATORS, OTHER_FLEETS, ENGINE_PORT),
        Way("operator", strange, operator, AGGREGATORS, AGGREGATOR_PORT),
        Way("operator", "API server, 443", operator, API_SERVER, 443),
        Way("operator", api, operator, ENGINES, ENGINE_PORT),
    )


def table(installed: Installed) -> str:
    """Return what the page says."""
    lines = ["| from | to | allowed |", "| --- | --- | --- |"]
    for way in ways(installed.pod):
        found = tuple(installed.is_open(way, policy) for policy in (USUAL, CLOSED, NAMED))
        lines.append(
            f"| {way.from_whom} | {way.to_whom} | {WORDS[found].format(field=way.field)} |"
        )
    return "\n".join(lines) + "\n"


def test_the_page_says_what_the_policies_say(installed: Installed) -> None:
    page = PAGE.read_text()

    said = page.partition(BEGIN)[2].partition(FINISH)[0]

    assert said == table(installed), f"write this between the marks of {PAGE.name}"


@pytest.mark.parametrize(
    "way",
    [
        pytest.param(
            Way("", "", Outside("10.0.0.1"), ENGINES, ENGINE_PORT), id="who-may-send-requests"
        ),
        pytest.param(Way("", "", AGGREGATORS, Outside("10.0.0.1"), 443), id="where-the-store-is"),
    ],
)
def test_naming_some_keeps_the_others_out(installed: Installed, way: Way) -> None:
    assert installed.is_open(way, USUAL)
    assert not installed.is_open(way, NAMED)


def test_an_operator_of_one_namespace_reaches_no_other(helm: Helm) -> None:
    rendered = helm.objects({"watchNamespaces": ["ml"]}, namespace=FACTS.namespace)
    [policy] = [one for one in rendered if one["kind"] == "NetworkPolicy"]
    operator = Pod(FACTS.namespace, policy["spec"]["podSelector"]["matchLabels"])

    reached = {
        namespace: may_connect(
            operator, pod(AGGREGATOR, namespace=namespace), AGGREGATOR_PORT, [policy]
        )
        for namespace in ("ml", "elsewhere")
    }

    assert reached == {"ml": True, "elsewhere": False}
