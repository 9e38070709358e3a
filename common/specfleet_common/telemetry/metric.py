"""What a metric is, and how a process makes the instrument that counts it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.core import GaugeMetricFamily

Kind = Literal["counter", "gauge", "histogram"]

# A series per counter with the time of its start doubles what Prometheus stores, and nobody asks.
disable_created_metrics()  # type: ignore[no-untyped-call]


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric as queries see it.

    `unit` is what one of it is: a base unit, or what is counted. Namespace, fleet, cohort and pod
    are no labels of it, because they come from whoever scrapes the process.
    """

    kind: Kind
    name: str
    unit: str
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    """Upper bounds, of a histogram only."""


def counter(metric: Metric, registry: CollectorRegistry) -> Counter:
    """Return a new counter for a metric."""
    assert metric.kind == "counter"
    return Counter(metric.name, metric.help, metric.labels, registry=registry)


def gauge(metric: Metric, registry: CollectorRegistry) -> Gauge:
    """Return a new gauge for a metric."""
    assert metric.kind == "gauge"
    return Gauge(metric.name, metric.help, metric.labels, registry=registry)


def histogram(metric: Metric, registry: CollectorRegistry) -> Histogram:
    """Return a new histogram for a metric."""
    assert metric.kind == "histogram"
    return Histogram(
        metric.name, metric.help, metric.labels, registry=registry, buckets=metric.buckets
    )


def gauge_family(
    metric: Metric, samples: Iterable[tuple[tuple[str, ...], float]]
) -> GaugeMetricFamily:
    """Return a gauge as a collector shows it: what it is for each tuple of labels."""
    assert metric.kind == "gauge"
    family = GaugeMetricFamily(metric.name, metric.help, labels=metric.labels)
    for labels, value in samples:
        family.add_metric(labels, float(value))
    return family


def process_registry() -> CollectorRegistry:
    """Return a registry that has what the kernel knows of the process: its time and its memory."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    return registry


def declared(names: Mapping[str, object]) -> tuple[Metric, ...]:
    """Return the metrics among the names of a module."""
    return tuple(value for value in names.values() if isinstance(value, Metric))
