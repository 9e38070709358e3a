"""The aggregator's metrics; their names are declared in specfleet_common.telemetry.

What alerts and rates ask for is there with 0 before it happens: a series that begins with 1 has
never risen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from prometheus_client import CollectorRegistry

from specfleet_aggregator.callers import Reason
from specfleet_common.api.promotion import Phase
from specfleet_common.judge.guards import Guard
from specfleet_common.store.entries import Entry, PromotionAdvanced, PromotionEnded
from specfleet_common.telemetry import aggregator as names
from specfleet_common.telemetry.metric import counter, gauge, histogram
from specfleet_common.wire.messages import DeltaReply, FleetState, Outcome, PromotionState

DECISIONS = (
    "promotion_opened",
    *(Phase.REPLAY, Phase.CANARY, Phase.ROLLING),
    *("Promoted", "Rejected", "Inconclusive", "Superseded", "Aborted"),
    "stable_withdrawn",
    "training_restarted",
)
MISPLACED = (Outcome.STALE, Outcome.FOREIGN)


@dataclass(frozen=True, slots=True)
class Figures:
    """What is to be seen of one lineage; `version_at` is when the open round's version was made."""

    state: FleetState
    version_at: float | None
    evidence_records: int


class AggregatorMetrics:
    """Counts what happens and shows the newest state."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._round = gauge(names.ROUND, registry)
        self._round_opened = gauge(names.ROUND_OPENED, registry)
        self._round_deltas = gauge(names.ROUND_DELTAS, registry)
        self._quorum = gauge(names.QUORUM, registry)
        self._live = gauge(names.LIVE_WORKERS, registry)
        self._training = gauge(names.TRAINING_WORKERS, registry)
        self._version = gauge(names.VERSION, registry)
        self._version_timestamp = gauge(names.VERSION_TIMESTAMP, registry)
        self._stable_version = gauge(names.STABLE_VERSION, registry)
        self._phase = gauge(names.PROMOTION_PHASE, registry)
        self._effect = gauge(names.PROMOTION_EFFECT, registry)
        self._guard = gauge(names.PROMOTION_GUARD, registry)
        self._records = gauge(names.EVIDENCE_RECORDS, registry)
        self._decisions = counter(names.DECISIONS, registry)
        self._deltas = counter(names.DELTAS, registry)
        self._refused = counter(names.REFUSED_DELTAS, registry)
        self._misplaced = counter(names.MISPLACED_DELTAS, registry)
        self._left_out = counter(names.LEFT_OUT_DELTAS, registry)
        self._bytes = counter(names.WEIGHTS_BYTES, registry)
        self._round_duration = histogram(names.ROUND_DURATION, registry)
        self._outer_duration = histogram(names.OUTER_STEP_DURATION, registry)
        self._store_failures = counter(names.STORE_FAILURES, registry)
        self._store_reachable = gauge(names.STORE_REACHABLE, registry)
        self._refused_calls = counter(names.REFUSED_CALLS, registry)
        self._settings_generation = gauge(names.SETTINGS_GENERATION, registry)
        self._settings_refused = gauge(names.SETTINGS_REFUSED, registry)
        self._store_reachable.set(1)
        self._workers: frozenset[str] = frozenset()
        self._effects: frozenset[tuple[str, ...]] = frozenset()
        for decision in DECISIONS:
            self._decisions.labels(decision)
        for outcome in Outcome:
            self._deltas.labels(outcome)
        for reason in Reason:
            self._refused_calls.labels(reason)
        for direction in ("received", "sent"):
            self._bytes.labels(direction)

    def delta(self, worker_id: str, reply: DeltaReply) -> None:
        """Count one delta by what became of it."""
        self._deltas.labels(reply.outcome).inc()
        if reply.outcome is Outcome.REFUSED:
            self._know(worker_id)
            self._refused.labels(worker_id).inc()
        elif reply.outcome in MISPLACED:
            self._know(worker_id)
            self._misplaced.labels(worker_id, reply.outcome).inc()

    def left_out(self, worker_id: str) -> None:
        """Count a delta that had no part in its round's version."""
        self._know(worker_id)
        self._left_out.labels(worker_id).inc()

    def moved(self, *, received_bytes: int, sent_bytes: int) -> None:
        """Count bytes of weights."""
        self._bytes.labels("received").inc(received_bytes)
        self._bytes.labels("sent").inc(sent_bytes)

    def published(self, *, round_seconds: float, outer_seconds: float) -> None:
        """Note how long a round and its outer step took."""
        self._round_duration.observe(round_seconds)
        self._outer_duration.observe(outer_seconds)

    def store_failed(self) -> None:
        """Count one attempt that the store failed."""
        self._store_failures.inc()

    def store(self, *, reachable: bool) -> None:
        """Show whether the store does what it is asked."""
        self._store_reachable.set(reachable)

    def call_refused(self, reason: Reason) -> None:
        """Count one call that its caller may not make."""
        self._refused_calls.labels(reason).inc()

    def settings(self, *, generation: int, refused: bool) -> None:
        """Show which settings are in force, and whether newer ones are not."""
        self._settings_generation.set(generation)
        self._settings_refused.set(refused)

    def certificate(self, expires_at: Callable[[], float]) -> None:
        """Show until when the certificate of now is valid; not called without TLS."""
        gauge(names.CERTIFICATE_EXPIRY, self._registry).set_function(expires_at)

    def decided(self, entry: Entry) -> None:
        """Count a decision by what was decided."""
        match entry:
            case PromotionEnded():
                decision: str = entry.outcome
            case PromotionAdvanced():
                decision = entry.phase
            case _:
                decision = entry.kind
        self._decisions.labels(decision).inc()

    def show(self, lineages: Sequence[Figures], *, now: float) -> None:
        """Show the newest state of all lineages; `now` is of the wall clock."""
        for one in lineages:
            self._show_lineage(one, now=now)
        if lineages:
            self.store(reachable=not any(one.state.store_error for one in lineages))
        workers = (worker for one in lineages for worker in one.state.workers)
        self._show_workers(frozenset(one.worker_id for one in workers if one.trains))
        self._show_effects(
            {labels: value for one in lineages for labels, value in _effects(one.state).items()}
        )

    def _show_lineage(self, figures: Figures, *, now: float) -> None:
        state, lineage = figures.state, figures.state.lineage_id
        self._round.labels(lineage).set(state.round)
        self._round_deltas.labels(lineage).set(state.deltas)
        self._quorum.labels(lineage).set(state.quorum)
        self._live.labels(lineage).set(state.live_workers)
        self._training.labels(lineage).set(state.training_workers)
        self._version.labels(lineage).set(state.base.number if state.base else 0)
        self._stable_version.labels(lineage).set(state.stable.number if state.stable else 0)
        self._records.labels(lineage).set(figures.evidence_records)
        if figures.version_at is not None:
            self._version_timestamp.labels(lineage).set(figures.version_at)
        if state.base is not None:
            # Without what two clocks disagree on from look to look.
            self._round_opened.labels(lineage).set(round(now - state.round_seconds))
        self._show_promotion(lineage, state.promotions[0] if state.promotions else None)

    def _show_promotion(self, lineage: str, newest: PromotionState | None) -> None:
        for phase in Phase:
            self._phase.labels(lineage, phase).set(newest is not None and phase == newest.phase)
        breached = newest.breached_guards if newest else ()
        for guard in Guard:
            self._guard.labels(lineage, guard.key).set(guard.key in breached)

    def _show_effects(self, effects: Mapping[tuple[str, ...], float]) -> None:
        for labels, value in effects.items():
            self._effect.labels(*labels).set(value)
        for labels in self._effects - effects.keys():
            self._effect.remove(*labels)
        self._effects = frozenset(effects)

    def _show_workers(self, workers: frozenset[str]) -> None:
        """Have the workers of now, and no others, among those that deltas are counted for."""
        for name in workers - self._workers:
            self._know(name)
        for name in self._workers - workers:
            self._refused.remove(name)
            self._left_out.remove(name)
            for outcome in MISPLACED:
                self._misplaced.remove(name, outcome)
        self._workers = workers

    def _know(self, worker_id: str) -> None:
        self._refused.labels(worker_id)
        self._left_out.labels(worker_id)
        for outcome in MISPLACED:
            self._misplaced.labels(worker_id, outcome)
        self._workers |= {worker_id}


def _effects(state: FleetState) -> dict[tuple[str, ...], float]:
    """Return the known bounds of what the newest promotion is judged by first."""
    if not state.promotions or not state.promotions[0].effects:
        return {}
    effect = state.promotions[0].effects[0]
    bounds = {"lower": effect.lower, "estimate": effect.gain, "upper": effect.upper}
    return {
        (state.lineage_id, effect.measure, bound): value
        for bound, value in bounds.items()
        if math.isfinite(value)
    }
