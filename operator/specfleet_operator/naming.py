"""Names of what belongs to a fleet: objects, labels, annotations, ports."""

from __future__ import annotations

import hashlib
from typing import Final

GROUP: Final = "specfleet.dev"
API_VERSION: Final = f"{GROUP}/v1alpha1"
KIND: Final = "SpeculatorFleet"
PROMOTION_KIND: Final = "DrafterPromotion"
FIELD_MANAGER: Final = "specfleet-operator"

FLEET_LABEL: Final = f"{GROUP}/fleet"
COHORT_LABEL: Final = f"{GROUP}/cohort"
REVISION_LABEL: Final = f"{GROUP}/revision"
"""On pods and templates: the digest of what the template was made from."""
COMPONENT_LABEL: Final = "app.kubernetes.io/component"

APPLIED_ANNOTATION: Final = f"{GROUP}/applied"
"""On every child: the digest of the object as it was applied last."""
SETTINGS_ANNOTATION: Final = f"{GROUP}/settings"
"""On the aggregator's pod: changes with its settings, so that the kubelet refreshes its files."""
RENDER_ANNOTATION: Final = f"{GROUP}/render"
"""On a fleet: any new value has its pods rendered again, as this operator would."""

ENGINE: Final = "engine"
AGGREGATOR: Final = "aggregator"
PROMOTION: Final = "promotion"
TEMPLATE: Final = "template"
"""The component of stored pod templates. No selector of a StatefulSet may match them: it would
take them for its own history."""

ENGINE_PORT: Final = 8000
AGENT_PORT: Final = 8090
AGGREGATOR_PORT: Final = 50051
METRICS_PORT: Final = 9090

_LONGEST_LABEL = 63
_LONGEST_STATEFUL_SET = 52  # its pods carry a label of this, a dash and ten more characters
_DIGITS = 8


def child_name(fleet: str, suffix: str, *, longest: int = _LONGEST_LABEL) -> str:
    """Return `fleet-suffix`, or where that is too long its beginning and a digest of all of it."""
    name = f"{fleet}-{suffix}"
    if len(name) <= longest:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGITS]
    return f"{name[: longest - _DIGITS - 1].rstrip('-')}-{digest}"


def engines_name(fleet: str, cohort: str) -> str:
    """Return the name of the StatefulSet of a cohort."""
    return child_name(fleet, cohort, longest=_LONGEST_STATEFUL_SET)


def aggregator_name(fleet: str) -> str:
    """Return the name of the aggregator's StatefulSet, Service and account."""
    return child_name(fleet, AGGREGATOR, longest=_LONGEST_STATEFUL_SET)


def aggregator_host(fleet: str, *, namespace: str, cluster_domain: str) -> str:
    """Return the name under which the fleet's agents and the operator find its aggregator."""
    return f"{aggregator_name(fleet)}.{namespace}.svc.{cluster_domain}"


def promotion_name(fleet: str, promotion: str) -> str:
    """Return the name of the DrafterPromotion of the fleet's promotion with this id."""
    return child_name(fleet, promotion)


def account_name(fleet: str, component: str) -> str:
    """Return the name of the ServiceAccount of the engines or of the aggregator."""
    return child_name(fleet, component)


def audience(fleet: str, *, namespace: str) -> str:
    """Return the audience of the tokens with which the fleet's aggregator may be called."""
    return f"specfleet/{namespace}/{fleet}"
