"""Reads a SpeculatorFleet from the cluster: what has to be rendered, or what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass

from specfleet_common.api.cluster import fleet_from_object
from specfleet_common.api.fleet import SpeculatorFleet
from specfleet_operator.naming import RENDER_ANNOTATION
from specfleet_operator.observed import Object, OperatorFacts
from specfleet_operator.rendering.subject import Subject


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a spec cannot be carried out: one word, and sentences that name the fields."""

    reason: str
    message: str


def read(item: Object, facts: OperatorFacts) -> Subject | Problem:
    """Return the fleet, or why it cannot be what its spec says."""
    try:
        fleet = fleet_from_object(item)
    except ValueError as error:
        return Problem("Invalid", "; ".join(str(error).splitlines()))
    problem = _problem_here(fleet, facts)
    if problem is not None:
        return problem
    metadata = item["metadata"]
    return Subject(
        fleet=fleet,
        uid=metadata["uid"],
        generation=metadata.get("generation", 0),
        render=(metadata.get("annotations") or {}).get(RENDER_ANNOTATION, ""),
        facts=facts,
    )


def _problem_here(fleet: SpeculatorFleet, facts: OperatorFacts) -> Problem | None:
    """Return what only this operator can object to."""
    if fleet.spec.engine.image is None and not facts.images.default_engine:
        return Problem(
            "EngineImageMissing",
            "spec.engine.image: is missing, expected an image with vLLM; this operator was"
            " installed without a default",
        )
    return None
