"""Everything that a fleet consists of, in the order in which it is applied.

What pods refer to comes before them.
"""

from __future__ import annotations

from collections.abc import Mapping

from specfleet_common.api.promotion import Decision
from specfleet_operator.naming import AGGREGATOR
from specfleet_operator.observed import Trust
from specfleet_operator.rendering import stateful_sets
from specfleet_operator.rendering.accounts import accounts
from specfleet_operator.rendering.config import settings, trust_objects
from specfleet_operator.rendering.disruption import disruption_budget
from specfleet_operator.rendering.monitors import pod_monitors
from specfleet_operator.rendering.network import network_policies
from specfleet_operator.rendering.services import services
from specfleet_operator.rendering.subject import Json, Subject
from specfleet_operator.revisions import Kept


def surroundings(subject: Subject, decisions: Mapping[str, Decision]) -> list[Json]:
    """Return everything but pods and what they have to trust."""
    return [
        *accounts(subject),
        settings(subject, decisions),
        *services(subject),
        *network_policies(subject),
        disruption_budget(subject),
        *pod_monitors(subject),
    ]


def running(subject: Subject, trust: Trust, templates: Mapping[str, Kept]) -> list[Json]:
    """Return what runs, and what it trusts; `templates` has every cohort's and the aggregator's."""
    return [
        *trust_objects(subject, trust),
        *(kept.record for kept in templates.values()),
        stateful_sets.aggregator(subject, templates[AGGREGATOR].template),
        *(
            stateful_sets.engines(subject, cohort, templates[cohort.name].template)
            for cohort in subject.fleet.spec.all_cohorts
        ),
    ]
