"""The aggregator's metrics; their names are declared in specfleet_common.telemetry."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from specfleet_aggregator.callers import Reason
from specfleet_common.api.promotion import Phase
from specfleet_common.store.entries import Entry, PromotionAdvanced, PromotionEnded
from specfleet_common.telemetry import metrics
from specfleet_common.wire.messages import DeltaReply, FleetState, Outcome, PromotionState

_BUCKETS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)


class AggregatorMetrics:
    """Counts what happens and shows the newest state."""

    def __init__(self, registry: CollectorRegistry, *, fleet: str) -> None:
        self._fleet = fleet
        self._round = metrics.gauge(metrics.AGGREGATOR_ROUND, registry)
        self._version = metrics.gauge(metrics.AGGREGATOR_VERSION, registry)
        self._live = metrics.gauge(metrics.AGGREGATOR_LIVE_WORKERS, registry)
        self._training = metrics.gauge(metrics.AGGREGATOR_TRAINING_WORKERS, registry)
        self._deltas = metrics.counter(metrics.AGGREGATOR_DELTAS, registry)
        self._refused = metrics.counter(metrics.AGGREGATOR_REFUSED_DELTAS, registry)
        self._left_out = metrics.counter(metrics.AGGREGATOR_LEFT_OUT_DELTAS, registry)
        self._round_seconds = metrics.histogram(
            metrics.AGGREGATOR_ROUND_SECONDS, registry, _BUCKETS
        ).labels(fleet)
        self._outer_seconds = metrics.histogram(
            metrics.AGGREGATOR_OUTER_STEP_SECONDS, registry, _BUCKETS
        ).labels(fleet)
        self._store_failures = metrics.counter(metrics.AGGREGATOR_STORE_FAILURES, registry).labels(
            fleet
        )
        self._refused_calls = metrics.counter(metrics.AGGREGATOR_REFUSED_CALLS, registry)
        self._settings_generation = metrics.gauge(
            metrics.AGGREGATOR_SETTINGS_GENERATION, registry
        ).labels(fleet)
        self._settings_refused = metrics.gauge(
            metrics.AGGREGATOR_SETTINGS_REFUSED, registry
        ).labels(fleet)
        bytes_ = metrics.counter(metrics.AGGREGATOR_BYTES, registry)
        self._received_bytes = bytes_.labels(fleet, "received")
        self._sent_bytes = bytes_.labels(fleet, "sent")
        self._phase = metrics.gauge(metrics.AGGREGATOR_PROMOTION_PHASE, registry)
        self._effect = metrics.gauge(metrics.AGGREGATOR_PROMOTION_EFFECT, registry)
        self._records = metrics.gauge(metrics.AGGREGATOR_EVIDENCE_RECORDS, registry)
        self._decisions = metrics.counter(metrics.AGGREGATOR_DECISIONS, registry)
        for outcome in Outcome:
            self._deltas.labels(fleet, outcome)

    def delta(self, worker_id: str, reply: DeltaReply) -> None:
        """Count one delta by what became of it."""
        self._deltas.labels(self._fleet, reply.outcome).inc()
        if reply.outcome is Outcome.REFUSED:
            self._refused.labels(self._fleet, worker_id).inc()

    def left_out(self, worker_id: str) -> None:
        """Count a delta that had no part in its round's version."""
        self._left_out.labels(self._fleet, worker_id).inc()

    def moved(self, *, received_bytes: int, sent_bytes: int) -> None:
        """Count bytes of weights."""
        self._received_bytes.inc(received_bytes)
        self._sent_bytes.inc(sent_bytes)

    def published(self, *, round_seconds: float, outer_seconds: float) -> None:
        """Note how long a round and its outer step took."""
        self._round_seconds.observe(round_seconds)
        self._outer_seconds.observe(outer_seconds)

    def store_failed(self) -> None:
        """Count one attempt that the store failed."""
        self._store_failures.inc()

    def call_refused(self, reason: Reason) -> None:
        """Count one call that its caller may not make."""
        self._refused_calls.labels(self._fleet, reason).inc()

    def settings(self, *, generation: int, refused: bool) -> None:
        """Show which settings are in force, and whether newer ones are not."""
        self._settings_generation.set(generation)
        self._settings_refused.set(refused)

    def decided(self, entry: Entry) -> None:
        """Count a decision by what was decided."""
        match entry:
            case PromotionEnded():
                decision: str = entry.outcome
            case PromotionAdvanced():
                decision = entry.phase
            case _:
                decision = entry.kind
        self._decisions.labels(self._fleet, decision).inc()

    def show(self, state: FleetState, *, evidence_records: int) -> None:
        """Show the newest state of one lineage."""
        labels = (self._fleet, state.lineage_id)
        self._round.labels(*labels).set(state.round)
        self._version.labels(*labels).set(state.base.number if state.base else 0)
        self._live.labels(*labels).set(state.live_workers)
        self._training.labels(*labels).set(state.training_workers)
        self._records.labels(*labels).set(evidence_records)
        if state.promotions:
            self._show_promotion(labels, state.promotions[0])

    def _show_promotion(self, labels: tuple[str, str], newest: PromotionState) -> None:
        for phase in Phase:
            self._phase.labels(*labels, phase).set(phase == newest.phase)
        for effect in newest.effects[:1]:
            bounds = {"lower": effect.lower, "estimate": effect.gain, "upper": effect.upper}
            for bound, value in bounds.items():
                self._effect.labels(*labels, effect.measure, bound).set(value)
