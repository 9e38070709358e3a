"""How many engines may be evicted at once, by node drains and the like."""

from __future__ import annotations

from specfleet_operator.naming import ENGINE
from specfleet_operator.rendering.subject import Json, Subject, child, selector


def disruption_budget(subject: Subject) -> Json:
    """Return a budget of one engine over all cohorts; broken ones may always go."""
    return child(
        subject,
        "policy/v1",
        "PodDisruptionBudget",
        subject.name,
        component=ENGINE,
        body={
            "spec": {
                "maxUnavailable": 1,
                "selector": {"matchLabels": selector(subject.name, ENGINE)},
                "unhealthyPodEvictionPolicy": "AlwaysAllow",
            }
        },
    )
