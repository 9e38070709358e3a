"""What a terminal shows of a fleet at one moment, kept so that it can be drawn again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from e2e.driving import WINDOW_SECONDS
from e2e.observing import Observer
from e2e.timeline import acceptance_length, spans, within
from specfleet_cli.endpoints import Fleet
from specfleet_common.api.promotion import Phase
from specfleet_common.wire.messages import FleetState


@dataclass(frozen=True, slots=True)
class Moment:
    """A fleet as its aggregator tells of it; both mappings are by the name of a worker."""

    state: FleetState
    worker_ids: Mapping[str, str]
    acceptance: Mapping[str, float | None]


def moment(fleet: Fleet, observer: Observer) -> Moment | None:
    """Return how the fleet is now, None while the aggregator has not told anything."""
    if observer.state is None:
        return None
    end = observer.seconds
    return Moment(
        state=observer.state,
        worker_ids={worker.name: worker.worker_id for worker in fleet.workers},
        acceptance={
            worker.name: acceptance_length(
                within(spans(observer.counts, [worker.name]), end - WINDOW_SECONDS, end)
            )
            for worker in fleet.workers
        },
    )


def is_on_canary(state: FleetState | None) -> bool:
    """Say whether a candidate is running on its canary and something is known of it."""
    newest = state.promotions[:1] if state else ()
    return any(
        one.phase == Phase.CANARY and one.candidate_engines and one.effects for one in newest
    )
