"""The cohorts of the stories' fleets: as a manifest has them, and as a running fleet does."""

from __future__ import annotations

from typing import Any

from specfleet_cli.endpoints import Fleet

CONTROL, PUSH = "control", "push"


def control() -> dict[str, Any]:
    """Return one engine that serves the drafter as it was shipped."""
    return {"name": CONTROL, "replicas": 1, "train": False, "serve": "Stock"}


def push(replicas: int) -> dict[str, Any]:
    """Return engines that learn and serve what they have learnt at once."""
    return {"name": PUSH, "replicas": replicas, "train": True, "serve": "Local"}


def set_training_engines(spec: dict[str, Any], *, number: int) -> None:
    """Give every cohort that trains so many engines."""
    for cohort in spec["cohorts"]:
        if cohort["train"]:
            cohort["replicas"] = number


def cohorts_of(fleet: Fleet) -> dict[str, tuple[str, ...]]:
    """Return the engines of every cohort."""
    names = dict.fromkeys(worker.cohort for worker in fleet.workers)
    return {
        name: tuple(worker.name for worker in fleet.workers if worker.cohort == name)
        for name in names
    }
