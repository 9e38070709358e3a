"""How clients reach the engines, and how agents and the operator reach the aggregator."""

from __future__ import annotations

from specfleet_operator.naming import (
    AGGREGATOR,
    AGGREGATOR_PORT,
    ENGINE,
    ENGINE_PORT,
    METRICS_PORT,
    aggregator_name,
    child_name,
)
from specfleet_operator.rendering.subject import Json, Subject, child, selector


def engines_service_name(fleet: str) -> str:
    """Return the name of the Service that gives every engine a name of its own."""
    return child_name(fleet, "engines")


def services(subject: Subject) -> list[Json]:
    """Return the Service for clients and the ones behind the StatefulSets' names."""
    name = subject.name
    http = [_port("http", ENGINE_PORT, "http")]
    grpc = [_port("grpc", AGGREGATOR_PORT, "grpc"), _port("metrics", METRICS_PORT, "http")]
    return [
        _service(subject, name, ENGINE, {"type": "ClusterIP", "ports": http}),
        _service(subject, engines_service_name(name), ENGINE, {**_HEADLESS, "ports": http}),
        _service(subject, aggregator_name(name), AGGREGATOR, {**_HEADLESS, "ports": grpc}),
    ]


# Names exist before pods are ready: an engine is looked at while it starts, and agents find a
# restarted aggregator at once.
_HEADLESS = {"type": "ClusterIP", "clusterIP": "None", "publishNotReadyAddresses": True}


def _service(subject: Subject, name: str, component: str, spec: Json) -> Json:
    body = {"spec": {**spec, "selector": selector(subject.name, component)}}
    return child(subject, "v1", "Service", name, component=component, body=body)


def _port(name: str, number: int, protocol: str) -> Json:
    return {
        "name": name,
        "port": number,
        "targetPort": name,
        "protocol": "TCP",
        "appProtocol": protocol,
    }
