"""What a worker is told about promotions in the answer to its heartbeat."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from specfleet_aggregator.promotion.assigning import ON_LIVE_ENGINES, Roster
from specfleet_aggregator.promotion.history import Promotion
from specfleet_common.api.promotion import Phase
from specfleet_common.judge.rejudging import AFTER, live_comparison
from specfleet_common.store.evidence import after
from specfleet_common.wire.messages import Comparison, VersionRef, WalkOrders


@dataclass(frozen=True, slots=True)
class Scene:
    """What goes on: `running` is on trial, `watched` made stable what it is.

    `versions` has those that can be named by their number; of others nothing is said. `sets` are
    those for which evidence can be taken; for others nobody measures.
    """

    running: Promotion | None = None
    watched: Promotion | None = None
    versions: Mapping[int, VersionRef] = field(default_factory=dict)
    sets: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """As in the heartbeat's reply."""

    serve: VersionRef | None = None
    comparison: Comparison | None = None
    walk: WalkOrders | None = None


def tell(scene: Scene, roster: Roster, worker_id: str, *, trains: bool, now: float) -> Told:
    """Return what one worker is told; `now` is the time of the wall clock, as in the ledger."""
    watched = _watched(scene, now=now) if worker_id in roster.watchers else None
    running = scene.running
    if running is None:
        return Told(comparison=watched)
    candidate = scene.versions.get(running.candidate.number)
    stable = scene.versions.get(running.stable.number)
    if candidate is None or stable is None:
        return Told(comparison=watched)
    if running.phase not in ON_LIVE_ENGINES:
        walks = trains and running.id in scene.sets
        walk = WalkOrders(running.id, candidate, stable) if walks else None
        return Told(comparison=watched, walk=walk)
    if roster.promotion != running.id:
        return Told()
    if running.phase is Phase.ROLLING and worker_id in roster.rolled:
        return Told(serve=candidate)
    if worker_id in roster.canaries and running.id in scene.sets:
        return Told(comparison=_comparison(running, candidate, stable, now=now))
    return Told()


def _comparison(
    running: Promotion, candidate: VersionRef, stable: VersionRef, *, now: float
) -> Comparison:
    plan = live_comparison(running.opened, phase=Phase.CANARY, stock_digest="").plan
    return Comparison(
        id=running.id,
        seed=plan.seed,
        trial=candidate,
        base=stable,
        elapsed_seconds=max(0.0, now - running.canary_began_at),
        block_seconds=plan.block_seconds,
        washout_seconds=plan.washout_seconds,
        one_pair_in=plan.one_pair_in,
    )


def _watched(scene: Scene, *, now: float) -> Comparison | None:
    promotion = scene.watched
    if promotion is None or promotion.ended is None or after(promotion.id) not in scene.sets:
        return None
    stable, stock = scene.versions.get(promotion.candidate.number), scene.versions.get(0)
    if stable is None or stock is None:
        return None
    plan = live_comparison(promotion.opened, phase=AFTER, stock_digest=stock.digest).plan
    return Comparison(
        id=after(promotion.id),
        seed=plan.seed,
        trial=stable,
        base=stock,
        elapsed_seconds=max(0.0, now - promotion.ended.at),
        block_seconds=plan.block_seconds,
        washout_seconds=plan.washout_seconds,
        one_pair_in=plan.one_pair_in,
    )
