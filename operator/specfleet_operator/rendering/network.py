"""Who may talk with the pods of a fleet, and with whom they may talk.

Every allowed way is declared at both of its ends, so that a namespace that denies everything else
needs no more rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from specfleet_operator.naming import (
    AGENT_PORT,
    AGGREGATOR,
    AGGREGATOR_PORT,
    ENGINE,
    ENGINE_PORT,
    METRICS_PORT,
    account_name,
)
from specfleet_operator.rendering.subject import Json, Subject, child, selector

_HTTPS_PORT = 443
# Some clusters' name servers listen on 5353 behind their Service.
_DNS = {
    "ports": [
        {"protocol": protocol, "port": port} for port in (53, 5353) for protocol in ("UDP", "TCP")
    ]
}


def network_policies(subject: Subject) -> list[Json]:
    """Return the policies of the engines and of the aggregator."""
    return [_engines(subject), _aggregator(subject)]


def _engines(subject: Subject) -> Json:
    wanted = subject.fleet.spec.network_policy
    own_aggregator = _own_pods(subject, AGGREGATOR)
    return _policy(
        subject,
        ENGINE,
        ingress=[
            *_from(wanted.ingress_from, ENGINE_PORT),
            # Metrics hold numbers, and who collects them is not the fleet's to know.
            *_from(None, AGENT_PORT),
        ],
        egress=[
            _DNS,
            {"to": [own_aggregator], "ports": _ports(AGGREGATOR_PORT)},
            *_to(wanted.egress_to),
            *_hub(subject),
        ],
    )


def _aggregator(subject: Subject) -> Json:
    wanted = subject.fleet.spec.network_policy
    operator = {
        "namespaceSelector": {
            "matchLabels": {"kubernetes.io/metadata.name": subject.facts.namespace}
        }
    }
    return _policy(
        subject,
        AGGREGATOR,
        ingress=[
            *_from([_own_pods(subject, ENGINE), operator], AGGREGATOR_PORT),
            *_from(None, METRICS_PORT),
        ],
        # A policy knows no host names, so that the store may be anywhere unless the user says more.
        egress=[{}] if wanted.egress_to is None else [_DNS, *_to(wanted.egress_to)],
    )


def _policy(subject: Subject, component: str, *, ingress: list[Json], egress: list[Json]) -> Json:
    return child(
        subject,
        "networking.k8s.io/v1",
        "NetworkPolicy",
        account_name(subject.name, component),
        component=component,
        body={
            "spec": {
                "podSelector": {"matchLabels": selector(subject.name, component)},
                "policyTypes": ["Ingress", "Egress"],
                "ingress": ingress,
                "egress": egress,
            }
        },
    )


def _own_pods(subject: Subject, component: str) -> Json:
    return {"podSelector": {"matchLabels": selector(subject.name, component)}}


def _from(peers: Sequence[Any] | None, port: int) -> list[Json]:
    """Return the rule that lets the peers in; None is everyone, and nobody needs no rule."""
    if peers is None:
        return [{"ports": _ports(port)}]
    return [{"from": list(peers), "ports": _ports(port)}] if peers else []


def _to(peers: Sequence[Any] | None) -> list[Json]:
    return [{"to": list(peers)}] if peers else []


def _hub(subject: Subject) -> list[Json]:
    """Return the way to the hub, for engines that download their model."""
    source, wanted = subject.fleet.spec.target.source, subject.fleet.spec.network_policy
    if source is None or source.hugging_face is None or wanted.egress_to is not None:
        return []
    # A policy knows no host names.
    return [{"ports": _ports(_HTTPS_PORT)}]


def _ports(number: int) -> list[Json]:
    return [{"protocol": "TCP", "port": number}]
