"""What an operator in a cluster was installed with, as its Deployment says. Pure.

The names are those of `settings`, whose values the Deployment gives in its environment.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from specfleet_operator.observed import Images, Object, OperatorFacts

_PREFIX = "SPECFLEET_OPERATOR_"


class NoOperator(ValueError):
    """Nobody says what would be done; the message says who was looked for."""


def operator_of(deployments: Iterable[Object], namespace: str) -> Object:
    """Return the Deployment of the operator that serves the fleets of a namespace."""
    everywhere: list[Object] = []
    for item in deployments:
        namespaces = [one for one in _settings(item).get("NAMESPACES", "").split(",") if one]
        if namespace in namespaces:
            return item
        if not namespaces:
            everywhere.append(item)
    if len(everywhere) != 1:
        raise NoOperator(
            f"namespace {namespace}: {_found(everywhere)} its fleets, expected one Deployment of "
            "the chart"
        )
    return everywhere[0]


def facts_of(deployment: Object, optional_kinds: Iterable[str]) -> OperatorFacts:
    """Return what is the same for all fleets of the operator."""
    settings, metadata = _settings(deployment), deployment["metadata"]
    return OperatorFacts(
        version=metadata.get("labels", {}).get("app.kubernetes.io/version", ""),
        images=Images(
            agent=settings["AGENT_IMAGE"],
            aggregator=settings["AGGREGATOR_IMAGE"],
            default_engine=settings.get("DEFAULT_ENGINE_IMAGE", ""),
        ),
        namespace=metadata["namespace"],
        service_account=deployment["spec"]["template"]["spec"]["serviceAccountName"],
        cluster_domain=settings.get("CLUSTER_DOMAIN", "cluster.local"),
        optional_kinds=frozenset(optional_kinds),
        pod_monitor_labels=json.loads(settings.get("POD_MONITOR_LABELS", "{}")),
    )


def _settings(deployment: Object) -> dict[str, str]:
    """Return the settings that the Deployment has as text."""
    (container,) = (
        one
        for one in deployment["spec"]["template"]["spec"]["containers"]
        if one["name"] == "operator"
    )
    return {
        one["name"].removeprefix(_PREFIX): one["value"]
        for one in container.get("env", ())
        if one["name"].startswith(_PREFIX) and "value" in one
    }


def _found(operators: Sequence[Object]) -> str:
    if not operators:
        return "no operator serves"
    names = [f"{one['metadata']['namespace']}/{one['metadata']['name']}" for one in operators]
    return f"{len(operators)} operators ({', '.join(names)}) serve"
