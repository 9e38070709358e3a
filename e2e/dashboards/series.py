"""What Prometheus answers: series with their labels and points."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Series:
    """One line; points are pairs of Unix time and value, without those that are no number."""

    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]


def decode(result: Sequence[Mapping[str, Any]]) -> tuple[Series, ...]:
    """Return the series of a vector or matrix; those without any number are left out."""
    found = [Series(one["metric"], _points(one.get("values") or [one["value"]])) for one in result]
    return tuple(series for series in found if series.points)


def legend(template: str, labels: Mapping[str, str]) -> str:
    """Return the name that Grafana gives a series."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: labels.get(found[1], ""), template).strip()


def _points(values: Sequence[Sequence[Any]]) -> tuple[tuple[float, float], ...]:
    pairs = ((float(at), float(value)) for at, value in values)
    return tuple((at, value) for at, value in pairs if math.isfinite(value))
