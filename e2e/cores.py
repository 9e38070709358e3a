"""Which cores the engines of a story get, so that its trainers get some of the others. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

VARIABLE = "VLLM_CPU_OMP_THREADS_BIND"


def binding(cores: Collection[int], engines: int) -> str:
    """Return how to bind engines of one thread each: freely, or all to the first core.

    Trainers have a low priority, so they get little where engines keep every core busy.
    """
    return "nobind" if len(cores) > engines else str(min(cores))


def bind(spec: dict[str, Any], cores: Collection[int]) -> None:
    """Bind all engines of a manifest's spec."""
    engines = sum(cohort["replicas"] for cohort in spec["cohorts"])
    others = [one for one in spec["engine"]["env"] if one["name"] != VARIABLE]
    spec["engine"]["env"] = [*others, {"name": VARIABLE, "value": binding(cores, engines)}]
