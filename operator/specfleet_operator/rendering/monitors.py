"""What a Prometheus operator collects from a fleet, in clusters that have one.

It labels what it collects with the namespace, the pod and the container by itself.
"""

from __future__ import annotations

from specfleet_operator.naming import AGGREGATOR, ENGINE, account_name
from specfleet_operator.rendering.subject import Json, Subject, child, selector

POD_MONITOR = "PodMonitor"

_META = "__meta_kubernetes_pod_label_specfleet_dev_"
_FLEET, _COHORT = (
    {"sourceLabels": [f"{_META}{label}"], "targetLabel": label} for label in ("fleet", "cohort")
)
_LABELS = {ENGINE: [_FLEET, _COHORT], AGGREGATOR: [_FLEET]}
_PORTS = {ENGINE: ("http", "agent"), AGGREGATOR: ("metrics",)}


def pod_monitors(subject: Subject) -> list[Json]:
    """Return one monitor for engines with their agents and one for the aggregator, or none."""
    if POD_MONITOR not in subject.facts.optional_kinds:
        return []
    return [_monitor(subject, component) for component in _PORTS]


def _monitor(subject: Subject, component: str) -> Json:
    monitor = child(
        subject,
        "monitoring.coreos.com/v1",
        POD_MONITOR,
        account_name(subject.name, component),
        component=component,
        body={
            "spec": {
                "selector": {"matchLabels": selector(subject.name, component)},
                "podMetricsEndpoints": [
                    {"port": port, "path": "/metrics", "relabelings": _LABELS[component]}
                    for port in _PORTS[component]
                ],
            }
        },
    )
    monitor["metadata"]["labels"] = {
        **subject.facts.pod_monitor_labels,
        **monitor["metadata"]["labels"],
    }
    return monitor
