"""The chart's rules and their promtool tests, read for tests; what they ask of metrics."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from specfleet_common.telemetry.metric import Metric
from specfleet_common.telemetry.metrics import ALL
from specfleet_operator.tests.charts import CHART

FILES = sorted((CHART / "rules").glob("*.yaml"))
SCENARIOS = sorted((Path(__file__).parent / "rules").glob("*.yaml"))
TARGET_LABELS = frozenset({"namespace", "fleet", "cohort", "pod", "container", "job"})
"""What whoever scrapes a process adds."""

_SELECTOR = re.compile(r"(?<![\w:])(specfleet_\w+)(?:\{([^}]*)\})?")
_RECORDED = re.compile(r"\w+:specfleet_\w+:\w+")
_LABELS = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)")
_GROUPING = re.compile(r"\b(?:by|on|group_left)\s*\(([^)]*)\)")


@dataclass(frozen=True, slots=True)
class Selector:
    """A metric that is asked for, and the labels that its matchers name."""

    name: str
    labels: frozenset[str]


def groups() -> list[Mapping[str, Any]]:
    """Return the groups of all files."""
    return [group for path in FILES for group in yaml.safe_load(path.read_text())["groups"]]


def alerts() -> dict[str, Mapping[str, Any]]:
    """Return the alerts by name."""
    return {rule["alert"]: rule for rule in _rules() if "alert" in rule}


def records() -> dict[str, str]:
    """Return the expressions of recording rules by the names of what they record."""
    return {rule["record"]: rule["expr"] for rule in _rules() if "record" in rule}


def expressions() -> list[str]:
    """Return the expressions of all rules."""
    return [rule["expr"] for rule in _rules()]


def selectors(text: str) -> Iterator[Selector]:
    """Yield the metrics of ours that a text names."""
    for name, matchers in _SELECTOR.findall(text):
        yield Selector(name, frozenset(_LABELS.findall(matchers)))


def recorded(text: str) -> set[str]:
    """Return the recorded series that a text names."""
    return set(_RECORDED.findall(text))


def grouped_by(expression: str) -> set[str]:
    """Return the labels by which an expression sums or joins."""
    lists = _GROUPING.findall(expression)
    return {label.strip() for one in lists for label in one.split(",") if label.strip()}


def metric_of(name: str) -> Metric | None:
    """Return the metric to which a series belongs, None when no process declares it."""
    declared = {metric.name: metric for metric in ALL}
    histogram = declared.get(re.sub(r"_(sum|count|bucket)$", "", name))
    if histogram is not None and histogram.kind == "histogram":
        return histogram
    found = declared.get(name)
    return None if found is None or found.kind == "histogram" else found


def _rules() -> Iterator[Mapping[str, Any]]:
    for group in groups():
        yield from group["rules"]
