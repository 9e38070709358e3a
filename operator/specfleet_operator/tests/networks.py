"""What NetworkPolicies allow, as Kubernetes defines it. Pure: for clusters that enforce none.

See https://kubernetes.io/docs/concepts/services-networking/network-policies/. A way is open when
the policies of both its ends allow it. Pods are not found by their addresses: no rule has them.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Json = Mapping[str, Any]

_NAME = "kubernetes.io/metadata.name"


@dataclass(frozen=True)
class Pod:
    """A pod, and the names of its ports."""

    namespace: str
    labels: Mapping[str, str]
    ports: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Outside:
    """An address that is no pod's."""

    address: str


End = Pod | Outside


def may_connect(
    source: End, target: End, port: int, policies: Iterable[Json], *, protocol: str = "TCP"
) -> bool:
    """Say whether a connection is allowed at both of its ends."""
    policies = tuple(policies)
    way = (port, protocol, target)
    return _allows(policies, source, "Egress", "to", target, way) and _allows(
        policies, target, "Ingress", "from", source, way
    )


def _allows(
    policies: Iterable[Json],
    pod: End,
    direction: str,
    peers: str,
    other: End,
    way: tuple[int, str, End],
) -> bool:
    if isinstance(pod, Outside):
        return True
    concerned = [
        policy["spec"]
        for policy in policies
        if policy["metadata"]["namespace"] == pod.namespace
        and direction in policy["spec"]["policyTypes"]
        and selects(policy["spec"]["podSelector"], pod.labels)
    ]
    if not concerned:
        return True
    return any(
        _has_port(rule, *way) and _has_peer(rule.get(peers), other, pod.namespace)
        for spec in concerned
        for rule in spec.get(direction.lower(), ())
    )


def _has_port(rule: Json, port: int, protocol: str, target: End) -> bool:
    wanted = rule.get("ports")
    if not wanted:
        return True
    for one in wanted:
        assert "endPort" not in one, "ranges are not evaluated"
        number = one.get("port", port)
        if isinstance(number, str):
            number = target.ports.get(number) if isinstance(target, Pod) else None
        if number == port and one.get("protocol", "TCP") == protocol:
            return True
    return False


def _has_peer(peers: Iterable[Json] | None, other: End, namespace: str) -> bool:
    peers = tuple(peers or ())
    if not peers:
        return True
    return any(_is_peer(peer, other, namespace) for peer in peers)


def _is_peer(peer: Json, other: End, namespace: str) -> bool:
    if (block := peer.get("ipBlock")) is not None:
        return isinstance(other, Outside) and _is_within(block, other.address)
    if isinstance(other, Outside):
        return False
    spaces = peer.get("namespaceSelector")
    if spaces is None:
        is_there = other.namespace == namespace
    else:
        is_there = selects(spaces, {_NAME: other.namespace})
    return is_there and selects(peer.get("podSelector", {}), other.labels)


def _is_within(block: Json, address: str) -> bool:
    found = ipaddress.ip_address(address)
    return found in ipaddress.ip_network(block["cidr"]) and not any(
        found in ipaddress.ip_network(one) for one in block.get("except", ())
    )


def selects(selector: Json, labels: Mapping[str, str]) -> bool:
    """Say whether a label selector selects what has these labels; an empty one selects all."""
    if any(labels.get(key) != value for key, value in selector.get("matchLabels", {}).items()):
        return False
    return all(_holds(one, labels) for one in selector.get("matchExpressions", ()))


def _holds(requirement: Json, labels: Mapping[str, str]) -> bool:
    key, value = requirement["key"], labels.get(requirement["key"])
    match requirement["operator"]:
        case "In":
            return value in requirement["values"]
        case "NotIn":
            return value not in requirement["values"]
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case other:
            raise AssertionError(f"{other}: is no operator of a selector")
