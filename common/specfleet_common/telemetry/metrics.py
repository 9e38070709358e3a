"""Every metric of the components, by process. Each process has a module that declares its own."""

from __future__ import annotations

from collections.abc import Mapping

from specfleet_common.telemetry import agent, aggregator, operator
from specfleet_common.telemetry.metric import Metric

BY_PROCESS: Mapping[str, tuple[Metric, ...]] = {
    "agent": agent.ALL,
    "aggregator": aggregator.ALL,
    "operator": operator.ALL,
}
ALL = tuple(metric for metrics in BY_PROCESS.values() for metric in metrics)
