"""What the view of a running fleet says about the version under judgement. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from specfleet_cli.promotions.showing import interval
from specfleet_common.api.promotion import Phase
from specfleet_common.wire.messages import FleetState, PromotionState


def open_promotion(fleet: FleetState | None) -> PromotionState | None:
    """Return the promotion that has not ended, None when there is none."""
    promotions = fleet.promotions if fleet else ()
    return next((one for one in promotions if one.phase != Phase.DONE), None)


def promotion_line(fleet: FleetState | None, engines: Mapping[str, str]) -> str:
    """Say how far the open promotion is, nothing without one; `engines` are named by worker id."""
    promotion = open_promotion(fleet)
    if fleet is None or promotion is None:
        return ""
    found = [f"promotion {promotion.id}: {progress(promotion)}"]
    if promotion.effects:
        effect = promotion.effects[0]
        found.append(f"{interval(effect)} {effect.measure}")
    running = [
        engines.get(worker.worker_id, worker.worker_id)
        for worker in fleet.workers
        if worker.live and worker.observed_digest == promotion.digest
    ]
    found.append(f"run by {', '.join(running)}" if running else "run by no engine")
    return f"{', '.join(found)}. {promotion.sentence}".rstrip()


def promotion_changes(before: FleetState, after: FleetState) -> Iterator[str]:
    """Say what has become of promotions between two states of a fleet, oldest first."""
    known = {one.id: one for one in before.promotions}
    for one in reversed(after.promotions):
        was = known.get(one.id)
        if was is None or progress(was) != progress(one):
            yield f"promotion {one.id}: {progress(one)}. {one.sentence}".rstrip()


def progress(promotion: PromotionState) -> str:
    """Say how far a promotion is, or how it has ended."""
    if promotion.outcome:
        return promotion.outcome
    return f"{promotion.phase}{', waits for approval' if promotion.waits_for_approval else ''}"
