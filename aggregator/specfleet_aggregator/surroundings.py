"""What all keepers of a process share."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from specfleet_aggregator.fleet import Policy
from specfleet_aggregator.metrics import AggregatorMetrics
from specfleet_aggregator.publishing import Outer
from specfleet_common.store.base import Store


@dataclass(frozen=True, slots=True)
class Surroundings:
    """`monotonic` and `wall` return the time in seconds; `changed` is called after every change."""

    store: Store
    spool_directory: Path
    checking: Executor
    """Where deltas are checked, apart from the threads that wait for the store."""
    policy: Policy
    outer: Outer
    metrics: AggregatorMetrics
    monotonic: Callable[[], float]
    wall: Callable[[], float]
    changed: Callable[[], None]
