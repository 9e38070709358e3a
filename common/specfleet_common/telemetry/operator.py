"""The metrics of the operator. Those about one fleet say which one themselves."""

from __future__ import annotations

from specfleet_common.telemetry.metric import Metric, declared

FLEETS = Metric("gauge", "specfleet_operator_fleets", "fleets", "Fleets that this operator knows.")
QUEUE_DEPTH = Metric(
    "gauge",
    "specfleet_operator_queue_depth",
    "fleets",
    "Fleets in which something changed that was not looked at yet.",
)
RECONCILE_DURATION = Metric(
    "histogram",
    "specfleet_operator_reconcile_duration_seconds",
    "seconds",
    "Time of one pass over a fleet: look, decide, act.",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0),
)
RECONCILE_FAILURES = Metric(
    "counter",
    "specfleet_operator_reconcile_failures_total",
    "passes",
    "Passes over a fleet that failed and were tried again, by the kind of failure.",
    ("reason",),
)
API_WRITES = Metric(
    "counter",
    "specfleet_operator_api_writes_total",
    "requests",
    "Requests to the API server that change something, by verb and kind of object.",
    ("verb", "kind"),
)
LEADER = Metric(
    "gauge",
    "specfleet_operator_leader",
    "0 or 1",
    "1 while this replica leads, so that it may write.",
)
STREAM_AGE = Metric(
    "gauge",
    "specfleet_operator_stream_age_seconds",
    "seconds",
    "Time since a stream of changes was last heard of; bookmarks keep it below a minute or so.",
    ("stream",),
)
AGGREGATORS = Metric(
    "gauge",
    "specfleet_operator_aggregators",
    "aggregators",
    "Aggregators that are watched, by whether they can be reached: yes, no.",
    ("reachable",),
)
FLEET_CONDITION = Metric(
    "gauge",
    "specfleet_operator_fleet_condition",
    "0 or 1",
    "1 for the status that a fleet's condition has (True, False, Unknown), 0 for the two others. "
    "Gone with the condition and with the fleet; only the leader shows it.",
    ("namespace", "fleet", "condition", "status"),
)
CERTIFICATE_EXPIRY = Metric(
    "gauge",
    "specfleet_operator_certificate_expiry_timestamp_seconds",
    "seconds",
    "When the certificate of a fleet's aggregator ends, in Unix time. Gone with the fleet; only "
    "the leader shows it.",
    ("namespace", "fleet"),
)

ALL = declared(globals())
