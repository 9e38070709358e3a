"""What the operator knows of one fleet at one moment, and of itself: the arguments of `plan`.

Plain values. Nothing here reads anything; a Kubernetes object is what its JSON says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from specfleet_common.wire.messages import FleetState

Object = Mapping[str, Any]
"""A Kubernetes object as JSON."""


@dataclass(frozen=True, slots=True, order=True)
class ObjectKey:
    """Names an object inside the namespace of the fleet."""

    api_version: str
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def key_of(item: Object) -> ObjectKey:
    """Return what names the object."""
    return ObjectKey(item["apiVersion"], item["kind"], item["metadata"]["name"])


@dataclass(frozen=True, slots=True)
class AggregatorView:
    """What the aggregator said last, and whether it can be reached now."""

    reachable: bool
    error: str
    """Why it cannot be reached; empty while it can."""
    since: float
    """Wall clock second since when it is reachable, or is not."""
    states: tuple[FleetState, ...] = ()
    """The newest message of every lineage, as received since the last connection was made."""


@dataclass(frozen=True, slots=True)
class Trust:
    """Who may talk to whom: the aggregator's certificate, and how tokens are verified."""

    ca_pem: str
    """Certificates that callers trust, newest first; more than one while a new CA takes over."""
    ca_key_pem: str
    """Key of the first of them; empty when they are the user's own."""
    certificate_pem: str
    key_pem: str
    not_after: float
    """Wall clock second when the certificate ends."""
    issuer: str
    """Who issues the cluster's service account tokens."""
    jwks: str
    """The keys that sign them, as a JSON Web Key Set."""


Verb = Literal["apply", "apply_status", "delete", "annotate"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something that the API server did not do, and what it said."""

    key: ObjectKey
    message: str
    verb: Verb = "apply"


@dataclass(frozen=True, slots=True)
class Observed:
    """One fleet and everything that belongs to it, as read a moment ago."""

    fleet: Object
    """The SpeculatorFleet."""
    children: tuple[Object, ...] = ()
    """Everything in its namespace with the label specfleet.dev/fleet of its name: what `plan`
    renders, pods, and ControllerRevisions."""
    aggregator: AggregatorView | None = None
    """None while it was never reached."""
    trust: Trust | None = None
    """None while it is being made."""
    trust_problem: str = ""
    """What is wrong with the user's own certificate; `trust` is then what was there before it."""
    refused: tuple[Refusal, ...] = ()
    """What the API server refused when the last plan was carried out."""


@dataclass(frozen=True, slots=True)
class Images:
    """Images the operator was installed with."""

    agent: str
    aggregator: str
    default_engine: str
    """For fleets that name none; empty when every fleet has to."""


@dataclass(frozen=True, slots=True)
class OperatorFacts:
    """What is the same for all fleets of this operator."""

    version: str
    images: Images
    namespace: str
    service_account: str
    cluster_domain: str = "cluster.local"
    optional_kinds: frozenset[str] = frozenset()
    """Kinds of other projects that the cluster knows, such as PodMonitor."""
    pod_monitor_labels: Mapping[str, str] = field(default_factory=dict)
    """Labels by which a Prometheus finds PodMonitors."""
