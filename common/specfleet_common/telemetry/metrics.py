"""Every metric of the components: name, labels, help. Nothing else declares one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

Kind = Literal["counter", "gauge", "histogram"]


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric as dashboards see it; a unit is the last word of the name."""

    kind: Kind
    name: str
    help: str
    labels: tuple[str, ...] = ()


def counter(metric: Metric, registry: CollectorRegistry) -> Counter:
    """Return a new counter for a metric."""
    assert metric.kind == "counter"
    return Counter(metric.name, metric.help, metric.labels, registry=registry)


def gauge(metric: Metric, registry: CollectorRegistry) -> Gauge:
    """Return a new gauge for a metric."""
    assert metric.kind == "gauge"
    return Gauge(metric.name, metric.help, metric.labels, registry=registry)


def histogram(metric: Metric, registry: CollectorRegistry, buckets: Sequence[float]) -> Histogram:
    """Return a new histogram for a metric."""
    assert metric.kind == "histogram"
    return Histogram(metric.name, metric.help, metric.labels, registry=registry, buckets=buckets)


AGGREGATOR_ROUND = Metric(
    "gauge", "specfleet_aggregator_round", "The open round.", ("fleet", "lineage")
)
AGGREGATOR_VERSION = Metric(
    "gauge", "specfleet_aggregator_version", "The newest global version.", ("fleet", "lineage")
)
AGGREGATOR_LIVE_WORKERS = Metric(
    "gauge", "specfleet_aggregator_live_workers", "Workers with a lease.", ("fleet", "lineage")
)
AGGREGATOR_TRAINING_WORKERS = Metric(
    "gauge",
    "specfleet_aggregator_training_workers",
    "Workers with a lease that train; the quorum is a share of them.",
    ("fleet", "lineage"),
)
AGGREGATOR_DELTAS = Metric(
    "counter",
    "specfleet_aggregator_deltas_total",
    "Deltas received, by what became of them.",
    ("fleet", "outcome"),
)
AGGREGATOR_REFUSED_DELTAS = Metric(
    "counter",
    "specfleet_aggregator_refused_deltas_total",
    "Deltas refused for their content, by worker.",
    ("fleet", "worker"),
)
AGGREGATOR_LEFT_OUT_DELTAS = Metric(
    "counter",
    "specfleet_aggregator_left_out_deltas_total",
    "Deltas left out of a version because they were far longer than the others, by worker.",
    ("fleet", "worker"),
)
AGGREGATOR_BYTES = Metric(
    "counter",
    "specfleet_aggregator_bytes_total",
    "Bytes of weights received from workers and sent to them.",
    ("fleet", "direction"),
)
AGGREGATOR_ROUND_SECONDS = Metric(
    "histogram",
    "specfleet_aggregator_round_seconds",
    "Time from a round's opening to its version.",
    ("fleet",),
)
AGGREGATOR_OUTER_STEP_SECONDS = Metric(
    "histogram",
    "specfleet_aggregator_outer_step_seconds",
    "Time from a round's closing to its version in the store.",
    ("fleet",),
)
AGGREGATOR_STORE_FAILURES = Metric(
    "counter",
    "specfleet_aggregator_store_failures_total",
    "Attempts to publish that the store failed.",
    ("fleet",),
)
AGGREGATOR_REFUSED_CALLS = Metric(
    "counter",
    "specfleet_aggregator_refused_calls_total",
    "Calls refused because of who made them, by reason.",
    ("fleet", "reason"),
)
AGGREGATOR_SETTINGS_GENERATION = Metric(
    "gauge",
    "specfleet_aggregator_settings_generation",
    "Generation of the settings in force.",
    ("fleet",),
)
AGGREGATOR_SETTINGS_REFUSED = Metric(
    "gauge",
    "specfleet_aggregator_settings_refused",
    "1 while the newest settings are not in force because something is wrong with them.",
    ("fleet",),
)
AGGREGATOR_PROMOTION_PHASE = Metric(
    "gauge",
    "specfleet_aggregator_promotion_phase",
    "1 for the phase of the newest promotion, 0 for the others.",
    ("fleet", "lineage", "phase"),
)
AGGREGATOR_PROMOTION_EFFECT = Metric(
    "gauge",
    "specfleet_aggregator_promotion_effect",
    "By how much the newest candidate exceeds what it is compared with, as a fraction, by measure "
    "and bound (lower, estimate, upper).",
    ("fleet", "lineage", "measure", "bound"),
)
AGGREGATOR_EVIDENCE_RECORDS = Metric(
    "gauge",
    "specfleet_aggregator_evidence_records",
    "Records that the open promotion rests on.",
    ("fleet", "lineage"),
)
AGGREGATOR_DECISIONS = Metric(
    "counter",
    "specfleet_aggregator_decisions_total",
    "Decisions about promotions, by what was decided: the phase or outcome, or the kind of entry "
    "in the ledger.",
    ("fleet", "decision"),
)

AGENT_CONNECTED = Metric(
    "gauge", "specfleet_agent_connected", "1 while the aggregator answers heartbeats."
)
AGENT_HEARTBEATS = Metric(
    "counter",
    "specfleet_agent_heartbeats_total",
    "Heartbeats by result: ok, unreachable, unauthorized, refused.",
    ("result",),
)
AGENT_ROUND = Metric("gauge", "specfleet_agent_round", "The round the agent works on.")
AGENT_VERSION = Metric("gauge", "specfleet_agent_version", "The global version held for training.")
AGENT_DELTAS = Metric(
    "counter",
    "specfleet_agent_deltas_total",
    "Deltas pushed, by what became of them.",
    ("outcome",),
)
AGENT_BANK_PUBLICATIONS = Metric(
    "counter",
    "specfleet_agent_bank_publications_total",
    "Weights handed to the engine, by label: stock, version, local.",
    ("label",),
)
AGENT_ENGINE_ADAPTING = Metric(
    "gauge",
    "specfleet_agent_engine_adapting",
    "1 while the running engine takes weights, 0 once a failure has ended that.",
)
AGENT_SWAPS = Metric(
    "counter", "specfleet_agent_swaps_total", "Swaps of the drafter in the running engine."
)
AGENT_BANK_REFUSALS = Metric(
    "counter",
    "specfleet_agent_bank_refusals_total",
    "Weights that the engine refused, by reason.",
    ("reason",),
)
AGENT_VERIFY_STEPS = Metric(
    "counter",
    "specfleet_agent_verify_steps_total",
    "Verify steps of the running engine, by drafter: stock, version, local.",
    ("drafter",),
)
AGENT_OUTPUT_TOKENS = Metric(
    "counter",
    "specfleet_agent_output_tokens_total",
    "Tokens that the running engine put out, by drafter.",
    ("drafter",),
)
AGENT_DRAFTED_TOKENS = Metric(
    "counter",
    "specfleet_agent_drafted_tokens_total",
    "Tokens drafted by the running engine, by drafter and position from 1.",
    ("drafter", "position"),
)
AGENT_ACCEPTED_TOKENS = Metric(
    "counter",
    "specfleet_agent_accepted_tokens_total",
    "Drafted tokens that the target confirmed, by drafter and position from 1.",
    ("drafter", "position"),
)
AGENT_CAPTURED_ROWS = Metric(
    "counter", "specfleet_agent_captured_rows_total", "Rows captured by the running engine."
)
AGENT_DROPPED_RECORDS = Metric(
    "counter",
    "specfleet_agent_dropped_records_total",
    "Capture records dropped because the ring was full.",
)
AGENT_TRAINER_RUNNING = Metric(
    "gauge", "specfleet_agent_trainer_running", "1 while the trainer process lives."
)
AGENT_TRAINER_RESTARTS = Metric(
    "counter",
    "specfleet_agent_trainer_restarts_total",
    "Trainer restarts by cause: exit, memory, hang.",
    ("cause",),
)
AGENT_TRAINER_MEMORY_BYTES = Metric(
    "gauge",
    "specfleet_agent_trainer_memory_bytes",
    "Memory that the trainer alone holds, without mapped files.",
)
AGENT_TRAINER_STEPS = Metric(
    "counter", "specfleet_agent_trainer_steps_total", "Training steps since the state began."
)
AGENT_TRAINER_LOSS = Metric(
    "gauge", "specfleet_agent_trainer_loss", "Loss of the newest step, by depth.", ("depth",)
)
AGENT_TRAINER_PARKED = Metric(
    "gauge",
    "specfleet_agent_trainer_parked",
    "1 while the trainer failed too often and is tried only every five minutes.",
)
AGENT_TRANSFERS = Metric(
    "counter",
    "specfleet_agent_transfers_total",
    "Weights moved, by kind (put_stock, push_delta, pull) and result (ok, unreachable, "
    "unauthorized, refused).",
    ("kind", "result"),
)
AGENT_BLOCKS = Metric(
    "counter",
    "specfleet_agent_blocks_total",
    "Blocks of comparisons of which the engine's work was recorded.",
)
AGENT_REQUESTS = Metric(
    "counter",
    "specfleet_agent_requests_total",
    "Requests that ended during comparisons, by result: recorded, or unknown where nothing tells "
    "which drafters proposed.",
    ("result",),
)
AGENT_EVIDENCE = Metric(
    "counter",
    "specfleet_agent_evidence_total",
    "Records for promotions, by kind (walk, block, request) and what became of them (stored, "
    "unwanted, refused, dropped because too many waited).",
    ("kind", "result"),
)
AGENT_EVIDENCE_CALLS = Metric(
    "counter",
    "specfleet_agent_evidence_calls_total",
    "Calls that hand in records, by result: ok, unreachable, unauthorized, refused.",
    ("result",),
)
AGENT_LOOP_FAILURES = Metric(
    "counter",
    "specfleet_agent_loop_failures_total",
    "Steps of the agent that failed unexpectedly and were tried again.",
    ("loop",),
)

OPERATOR_FLEETS = Metric("gauge", "specfleet_operator_fleets", "Fleets that this operator knows.")
OPERATOR_QUEUE_DEPTH = Metric(
    "gauge",
    "specfleet_operator_queue_depth",
    "Fleets in which something changed that was not looked at yet.",
)
OPERATOR_RECONCILE_SECONDS = Metric(
    "histogram",
    "specfleet_operator_reconcile_seconds",
    "Time of one pass over a fleet: look, decide, act.",
)
OPERATOR_RECONCILE_FAILURES = Metric(
    "counter",
    "specfleet_operator_reconcile_failures_total",
    "Passes over a fleet that failed and were tried again, by the kind of failure.",
    ("reason",),
)
OPERATOR_API_WRITES = Metric(
    "counter",
    "specfleet_operator_api_writes_total",
    "Requests to the API server that change something, by verb and kind of object.",
    ("verb", "kind"),
)
OPERATOR_LEADER = Metric(
    "gauge", "specfleet_operator_leader", "1 while this replica leads, so that it may write."
)
OPERATOR_STREAM_AGE_SECONDS = Metric(
    "gauge",
    "specfleet_operator_stream_age_seconds",
    "Time since a stream of changes was last heard of; bookmarks keep it below a minute or so.",
    ("stream",),
)
OPERATOR_AGGREGATORS = Metric(
    "gauge",
    "specfleet_operator_aggregators",
    "Aggregators that are watched, by whether they can be reached.",
    ("reachable",),
)

ALL: tuple[Metric, ...] = tuple(
    value for value in tuple(globals().values()) if isinstance(value, Metric)
)
