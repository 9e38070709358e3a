"""Builders of fleets and of what surrounds them, for tests to change at one place."""

from __future__ import annotations

import copy
from typing import Any

from specfleet_common.lineage import Lineage
from specfleet_common.wire.messages import FleetState, PromotionState, WorkerState
from specfleet_common.wire.testing import fleet_state, worker_state
from specfleet_operator.naming import API_VERSION, ENGINE, KIND
from specfleet_operator.observed import AggregatorView, Images, OperatorFacts, Trust
from specfleet_operator.pods import Pod
from specfleet_operator.reading import read
from specfleet_operator.rendering.subject import Subject

NOW = 1_800_000_000.0

FACTS = OperatorFacts(
    version="1.0.0",
    images=Images(agent="agent:1", aggregator="aggregator:1", default_engine="vllm:1"),
    namespace="specfleet-system",
    service_account="specfleet-operator",
)
TRUST = Trust(
    ca_pem="CA",
    ca_key_pem="CA KEY",
    certificate_pem="CERTIFICATE",
    key_pem="KEY",
    not_after=NOW + 1e7,
    issuer="https://kubernetes.default.svc",
    jwks='{"keys": []}',
)

LINEAGE = Lineage("target", "mtp", "layout", "float32", "shapes")

CONTROL = {"name": "control", "serve": "Stock", "replicas": 1}
PUSH = {"name": "push", "serve": "Local", "train": True, "replicas": 2}
"""Cohorts."""

_SPEC: dict[str, Any] = {
    "target": {
        "model": "tiny",
        "source": {"persistentVolumeClaim": {"claimName": "models"}},
    },
    "drafter": {"family": "mtp"},
    "store": {
        "s3": {
            "endpoint": "https://s3.example.com",
            "bucket": "fleets",
            "credentialsSecretRef": {"name": "s3"},
        }
    },
}


def fleet(*, generation: int = 1, status: Any = None, **changes: Any) -> dict[str, Any]:
    """Return a SpeculatorFleet; `engine__image="x"` sets that field of its spec."""
    spec = copy.deepcopy(_SPEC)
    for path, value in changes.items():
        *folders, name = path.split("__")
        place = spec
        for folder in folders:
            place = place.setdefault(folder, {})
        place[name] = value
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {
            "name": "demo",
            "namespace": "ml",
            "uid": "uid-of-demo",
            "generation": generation,
        },
        "spec": spec,
        **({} if status is None else {"status": status}),
    }


def subject(facts: OperatorFacts = FACTS, **changes: Any) -> Subject:
    """Return the fleet as it is rendered."""
    found = read(fleet(**changes), facts)
    assert isinstance(found, Subject), found
    return found


def pod(name: str, **changes: Any) -> Pod:
    """Return a ready pod of an engine; its cohort is what its name begins with."""
    cohort, _, ordinal = name.rpartition("-")
    fields: dict[str, Any] = {
        "name": name,
        "uid": name,
        "component": ENGINE,
        "cohort": cohort,
        "ordinal": int(ordinal),
        "revision": "new",
        "ready": True,
        "terminating": False,
        "trouble": None,
        "annotations": {},
    }
    return Pod(**{**fields, **changes})


def worker(worker_id: str, **changes: Any) -> WorkerState:
    """Return a live worker that trains."""
    return worker_state(worker_id=worker_id, **changes)


def promotion(number: int, phase: str = "Replay", **changes: Any) -> PromotionState:
    """Return a promotion, opened as many minutes ago as its number is below 100."""
    digest = f"{number:08x}{'d' * 56}"
    opened_at = NOW - 60 * (100 - number)
    fields: dict[str, Any] = {
        "id": f"{number}-{digest[:12]}",
        "number": number,
        "digest": digest,
        "phase": phase,
        "outcome": "",
        "sentence": f"Version {number} is in {phase}.",
        "started_at": opened_at,
    }
    return PromotionState(**{**fields, **changes})


def ended(number: int, outcome: str = "Rejected", **changes: Any) -> PromotionState:
    """Return a promotion that has ended half a minute after it was opened."""
    open_one = promotion(number)
    fields = {"outcome": outcome, "finished_at": open_one.started_at + 30, **changes}
    return promotion(number, "Done", **fields)


def state(*workers: WorkerState, **changes: Any) -> FleetState:
    """Return what the aggregator of the fleet tells, with the settings of its first generation."""
    return fleet_state(*workers, **{"fleet": "demo", "settings_generation": 1, **changes})


def view(*states: FleetState) -> AggregatorView:
    """Return an aggregator that is reachable and has said this."""
    return AggregatorView(reachable=True, error="", since=NOW - 100, states=states)


def silent(*, seconds: float, error: str = "connection refused") -> AggregatorView:
    """Return an aggregator that has been unreachable for so long."""
    return AggregatorView(reachable=False, error=error, since=NOW - seconds)
