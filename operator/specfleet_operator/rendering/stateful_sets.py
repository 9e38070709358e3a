"""The StatefulSets of the engines, one per cohort, and of the aggregator."""

from __future__ import annotations

from specfleet_common.api.fleet import Cohort
from specfleet_operator.naming import AGGREGATOR, ENGINE, aggregator_name, engines_name
from specfleet_operator.observed import Object
from specfleet_operator.rendering.services import engines_service_name
from specfleet_operator.rendering.subject import Json, Subject, child, selector

_HISTORY = 1
"""Templates that a StatefulSet itself remembers; ours are kept by `revisions`."""


def engines(subject: Subject, cohort: Cohort, template: Object) -> Json:
    """Return the StatefulSet of a cohort, whose pods the operator itself replaces one by one."""
    return child(
        subject,
        "apps/v1",
        "StatefulSet",
        engines_name(subject.name, cohort.name),
        component=ENGINE,
        cohort=cohort.name,
        body={
            "spec": {
                "replicas": cohort.replicas,
                "serviceName": engines_service_name(subject.name),
                "podManagementPolicy": "Parallel",
                "updateStrategy": {"type": "OnDelete"},
                "revisionHistoryLimit": _HISTORY,
                "selector": {"matchLabels": selector(subject.name, ENGINE, cohort.name)},
                "template": template,
            }
        },
    )


def aggregator(subject: Subject, template: Object) -> Json:
    """Return the StatefulSet of the aggregator.

    Parallel, because otherwise a pod that cannot start is never replaced by one that can.
    """
    name = aggregator_name(subject.name)
    return child(
        subject,
        "apps/v1",
        "StatefulSet",
        name,
        component=AGGREGATOR,
        body={
            "spec": {
                "replicas": 1,
                "serviceName": name,
                "podManagementPolicy": "Parallel",
                "updateStrategy": {"type": "RollingUpdate"},
                "revisionHistoryLimit": _HISTORY,
                "selector": {"matchLabels": selector(subject.name, AGGREGATOR)},
                "template": template,
            }
        },
    )
