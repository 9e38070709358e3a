"""The metrics of the aggregator. What has the label `lineage` is absent before there is one."""

from __future__ import annotations

from specfleet_common.telemetry.metric import Metric, declared

_LINEAGE = ("lineage",)
_BUCKETS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)

ROUND = Metric(
    "gauge",
    "specfleet_aggregator_round",
    "number",
    "Number of the open round, that of its version less one.",
    _LINEAGE,
)
ROUND_OPENED = Metric(
    "gauge",
    "specfleet_aggregator_round_opened_timestamp_seconds",
    "seconds",
    "When the open round was opened, in Unix time.",
    _LINEAGE,
)
ROUND_DELTAS = Metric(
    "gauge",
    "specfleet_aggregator_round_deltas",
    "deltas",
    "Deltas that count for the open round so far.",
    _LINEAGE,
)
QUORUM = Metric(
    "gauge",
    "specfleet_aggregator_quorum",
    "deltas",
    "Deltas that close the open round at once.",
    _LINEAGE,
)
LIVE_WORKERS = Metric(
    "gauge", "specfleet_aggregator_live_workers", "workers", "Workers with a lease.", _LINEAGE
)
TRAINING_WORKERS = Metric(
    "gauge",
    "specfleet_aggregator_training_workers",
    "workers",
    "Workers with a lease that train; the quorum is a share of them.",
    _LINEAGE,
)
VERSION = Metric(
    "gauge",
    "specfleet_aggregator_version",
    "number",
    "The newest global version; 0 is stock.",
    _LINEAGE,
)
VERSION_TIMESTAMP = Metric(
    "gauge",
    "specfleet_aggregator_version_timestamp_seconds",
    "seconds",
    "When the newest global version was made, in Unix time.",
    _LINEAGE,
)
STABLE_VERSION = Metric(
    "gauge",
    "specfleet_aggregator_stable_version",
    "number",
    "The version that engines serve; 0 is stock.",
    _LINEAGE,
)
PROMOTION_PHASE = Metric(
    "gauge",
    "specfleet_aggregator_promotion_phase",
    "0 or 1",
    "1 for the phase of the newest promotion (Pending, Replay, Canary, Rolling, Done), 0 for the "
    "others and before the first promotion.",
    ("lineage", "phase"),
)
PROMOTION_EFFECT = Metric(
    "gauge",
    "specfleet_aggregator_promotion_effect_ratio",
    "ratio",
    "By how much the newest candidate exceeds what it is compared with first, as a fraction, by "
    "measure (tokens per verify step, tokens per busy second) and bound (lower, estimate, upper). "
    "Absent as long as it is not known or not bounded.",
    ("lineage", "measure", "bound"),
)
PROMOTION_GUARD = Metric(
    "gauge",
    "specfleet_aggregator_promotion_guard_breached",
    "0 or 1",
    "1 for a guard of the newest promotion that does not hold (tpot, ttft, errors, preemptions), 0 "
    "for the others.",
    ("lineage", "guard"),
)
EVIDENCE_RECORDS = Metric(
    "gauge",
    "specfleet_aggregator_evidence_records",
    "records",
    "Records that the open promotion rests on, 0 while none is open.",
    _LINEAGE,
)
DECISIONS = Metric(
    "counter",
    "specfleet_aggregator_decisions_total",
    "decisions",
    "Decisions about promotions by this process, by what was decided: the phase that was entered "
    "(Replay, Canary, Rolling), the outcome (Promoted, Rejected, Inconclusive, Superseded, "
    "Aborted), or the kind of entry in the ledger (promotion_opened, stable_withdrawn, "
    "training_restarted).",
    ("decision",),
)
DELTAS = Metric(
    "counter",
    "specfleet_aggregator_deltas_total",
    "deltas",
    "Deltas offered by workers, by what became of them: accepted, duplicate, stale, foreign, "
    "refused.",
    ("outcome",),
)
REFUSED_DELTAS = Metric(
    "counter",
    "specfleet_aggregator_refused_deltas_total",
    "deltas",
    "Deltas refused for their content, by worker: the UID of its pod. Gone with the worker.",
    ("worker",),
)
MISPLACED_DELTAS = Metric(
    "counter",
    "specfleet_aggregator_misplaced_deltas_total",
    "deltas",
    "Deltas of a round that is not open or of a lineage that is not the fleet's, by worker and "
    "outcome (stale, foreign). Gone with the worker.",
    ("worker", "outcome"),
)
LEFT_OUT_DELTAS = Metric(
    "counter",
    "specfleet_aggregator_left_out_deltas_total",
    "deltas",
    "Deltas left out of a version because they were far longer than the others, by worker. Gone "
    "with the worker.",
    ("worker",),
)
WEIGHTS_BYTES = Metric(
    "counter",
    "specfleet_aggregator_weights_bytes_total",
    "bytes",
    "Weights that workers sent and fetched, by direction: received, sent.",
    ("direction",),
)
ROUND_DURATION = Metric(
    "histogram",
    "specfleet_aggregator_round_duration_seconds",
    "seconds",
    "Time from a round's opening to its version.",
    buckets=_BUCKETS,
)
OUTER_STEP_DURATION = Metric(
    "histogram",
    "specfleet_aggregator_outer_step_duration_seconds",
    "seconds",
    "Time from a round's closing to its version in the store.",
    buckets=_BUCKETS,
)
STORE_FAILURES = Metric(
    "counter",
    "specfleet_aggregator_store_failures_total",
    "requests",
    "Times that the store failed to take or to give something.",
)
STORE_REACHABLE = Metric(
    "gauge",
    "specfleet_aggregator_store_reachable",
    "0 or 1",
    "1 while nothing that the store was asked last has failed.",
)
REFUSED_CALLS = Metric(
    "counter",
    "specfleet_aggregator_refused_calls_total",
    "calls",
    "Calls refused because of who made them, by reason: missing, too_large, malformed, algorithm, "
    "key, signature, issuer, audience, expired, early, secret, subject, role, pod.",
    ("reason",),
)
SETTINGS_GENERATION = Metric(
    "gauge",
    "specfleet_aggregator_settings_generation",
    "number",
    "Generation of the settings in force.",
)
SETTINGS_REFUSED = Metric(
    "gauge",
    "specfleet_aggregator_settings_refused",
    "0 or 1",
    "1 while the newest settings are not in force because something is wrong with them.",
)
CERTIFICATE_EXPIRY = Metric(
    "gauge",
    "specfleet_aggregator_certificate_expiry_timestamp_seconds",
    "seconds",
    "When the certificate that callers are shown ends, in Unix time. Absent without TLS.",
)

ALL = declared(globals())
