"""SpeculatorFleet objects of a cluster as reports. Pure.

Fields that are not known here are passed over: the cluster's definitions may be newer. What is
missing in a spec is what the definitions have as its default.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from specfleet_cli.promotions.listing import Listed
from specfleet_cli.promotions.objects import listed_object
from specfleet_cli.status.report import Cohort, Condition, Learning, Report
from specfleet_common.api.fleet import MAIN_COHORT
from specfleet_common.api.promotion import Phase
from specfleet_common.api.values import Serve
from specfleet_common.wire.messages import PromotionState

_READY = "Ready"


def report_of(fleet: Mapping[str, Any], promotion: Mapping[str, Any] | None) -> Report:
    """Return what an object and that of its newest promotion say, None when that is not known."""
    metadata, spec, status = fleet["metadata"], fleet["spec"], fleet.get("status") or {}
    drafter = status.get("drafter") or {}
    return Report(
        name=metadata["name"],
        namespace=metadata["namespace"],
        target=spec["target"]["model"],
        store=_store(metadata, spec["store"]),
        conditions=_conditions(status, generation=metadata.get("generation", 0)),
        cohorts=tuple(_cohorts(spec, status)),
        stable=drafter.get("stable") or "",
        candidate=drafter.get("candidate") or "",
        acceptance_length=_decimal(status.get("acceptanceLength")),
        learning=_learning(status.get("aggregation")),
        promotion=_promotion(metadata["name"], status, promotion),
    )


def promotion_name(fleet: Mapping[str, Any]) -> str:
    """Return the name of the object of the newest promotion, empty when there is none."""
    status = fleet.get("status") or {}
    return str((status.get("promotion") or {}).get("name") or "")


def _conditions(status: Mapping[str, Any], *, generation: int) -> tuple[Condition, ...]:
    if not status.get("conditions"):
        message = "No operator has looked at this fleet yet."
        return (Condition(_READY, "Unknown", "NotReconciled", message),)
    conditions = sorted(status["conditions"], key=lambda one: bool(one["type"] != _READY))
    found = tuple(
        Condition(
            type=one["type"],
            status=one["status"],
            reason=one["reason"],
            message=one["message"],
            since=one.get("lastTransitionTime") or "",
        )
        for one in conditions
    )
    if status.get("observedGeneration", generation) < generation:
        message = "The operator has not seen the newest spec yet; what follows is of an older one."
        return (Condition(_READY, "Unknown", "NotReconciled", message), *found[1:])
    return found


def _cohorts(spec: Mapping[str, Any], status: Mapping[str, Any]) -> Iterable[Cohort]:
    seen = {one["name"]: one for one in status.get("cohorts") or ()}
    main = {"train": True, **spec, "name": MAIN_COHORT}
    for wanted in (main, *spec.get("cohorts", ())):
        known = seen.get(wanted["name"], {})
        yield Cohort(
            name=wanted["name"],
            serve=wanted.get("serve") or Serve.STABLE.value,
            train=bool(wanted.get("train", False)),
            replicas=wanted.get("replicas", 1),
            ready=known.get("readyReplicas", 0),
            adapted=known.get("adaptedReplicas"),
            drafter=known.get("drafter") or "",
            acceptance_length=_decimal(known.get("acceptanceLength")),
        )


def _learning(said: Mapping[str, Any] | None) -> Learning | None:
    if said is None:
        return None
    return Learning(
        round=said["round"],
        version=said["version"],
        live_workers=said["liveWorkers"],
        training_workers=said["trainingWorkers"],
        losses=tuple(map(float, said.get("losses") or ())),
    )


def _promotion(
    fleet: str, status: Mapping[str, Any], item: Mapping[str, Any] | None
) -> Listed | None:
    """Return what the object says, or without it the little that the fleet's status does."""
    if item is not None:
        return listed_object(item)
    said = status.get("promotion")
    if not said:
        return None
    has_ended = said["phase"] == Phase.DONE
    state = PromotionState(
        id=said["name"],
        number=0,
        digest="",
        phase=said["phase"],
        outcome=said["reason"] if has_ended else "",
        sentence="",
        started_at=0.0,
    )
    return Listed(said["name"], fleet, (status.get("drafter") or {}).get("lineage") or "", state)


def _store(metadata: Mapping[str, Any], store: Mapping[str, Any]) -> str:
    s3 = store.get("s3")
    if s3 is None:
        return str((store.get("directory") or {}).get("path") or "")
    place = f"{metadata['namespace']}/{metadata['name']}"
    prefix = "/".join(part for part in (s3.get("prefix"), place) if part)
    return f"s3://{s3['bucket']}/{prefix} at {s3['endpoint']}"


def _decimal(text: str | None) -> float | None:
    return None if text is None else float(text)
