"""What is known of a fleet's learning: the aggregator's messages of all lineages taken together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from specfleet_common import figures
from specfleet_common.wire.messages import FleetState, PromotionState, WorkerState
from specfleet_operator.observed import AggregatorView

PATIENCE_SECONDS = 15.0
"""An aggregator that is silent for less than this may just be restarting."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A promotion, and the lineage that its version is of."""

    lineage: str
    promotion: PromotionState


@dataclass(frozen=True, slots=True)
class Aggregation:
    """One fleet's learning; the fields behind `error` say nothing unless `is_reachable`."""

    is_known: bool
    """Whether the aggregator has been heard of, or has been unreachable for too long."""
    is_reachable: bool
    since: float
    error: str
    current: FleetState | None = None
    """The lineage most of its engines are of."""
    workers: tuple[WorkerState, ...] = ()
    promotions: tuple[Judged, ...] = ()
    """Of all lineages."""
    store_error: str = ""
    settings_error: str = ""
    settings_generation: int = 0

    @property
    def training_workers(self) -> int:
        """Return how many live workers train."""
        return sum(worker.live and worker.trains for worker in self.workers)


def aggregation(view: AggregatorView | None, now: float) -> Aggregation:
    """Take what was seen of the aggregator together."""
    if view is None or (view.reachable and not view.states):
        return Aggregation(is_known=False, is_reachable=False, since=now, error="")
    if not view.reachable:
        is_known = now - view.since >= PATIENCE_SECONDS
        return Aggregation(is_known, is_reachable=False, since=view.since, error=view.error)
    current = figures.newest(view.states)
    return Aggregation(
        is_known=True,
        is_reachable=True,
        since=view.since,
        error="",
        current=current,
        workers=figures.workers_of(view.states),
        promotions=_promotions(view.states),
        store_error=next((state.store_error for state in view.states if state.store_error), ""),
        settings_error=next((one.settings_error for one in view.states if one.settings_error), ""),
        settings_generation=max(state.settings_generation for state in view.states),
    )


def _promotions(states: Iterable[FleetState]) -> tuple[Judged, ...]:
    lineages = [(state.lineage_id, state.promotions) for state in states]
    return tuple(Judged(lineage, one) for lineage, promotions in lineages for one in promotions)


def seconds_to_patience(view: AggregatorView | None, now: float) -> float | None:
    """Return when silence becomes news, None when it is no matter of time."""
    if view is None or view.reachable or now - view.since >= PATIENCE_SECONDS:
        return None
    return view.since + PATIENCE_SECONDS - now
